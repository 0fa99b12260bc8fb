"""A throw-away authority and certificates signed by it, made by the openssl command."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Certificates:
    """Files of one authority: its own certificate, and a node's for the names that were asked for."""

    authority: Path
    certificate: Path
    key: Path

    @property
    def table(self) -> str:
        """The [tls] table of a node that uses them."""
        return f'[tls]\ncertificate = "{self.certificate}"\nkey = "{self.key}"\nauthorities = "{self.authority}"\n'


def make_certificates(folder: Path, names: str = "IP:127.0.0.1,DNS:localhost", *, node: str = "node") -> Certificates:
    """An authority, that of the folder if it has one, and a node's certificate for these names."""
    if shutil.which("openssl") is None:
        pytest.skip("the openssl command is not installed, which makes the certificates")
    folder.mkdir(parents=True, exist_ok=True)
    authority, authority_key = folder / "authority.pem", folder / "authority.key"
    certificate, key = folder / f"{node}.pem", folder / f"{node}.key"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    if not authority.exists():
        _openssl(
            "req", "-x509", *curve, "-keyout", str(authority_key), "-out", str(authority), "-days", "2",
            "-subj", "/CN=Authority of a test", "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign",
        )  # fmt: skip
    request, extensions = folder / f"{node}.csr", folder / f"{node}.ext"
    extensions.write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\n")
    _openssl("req", *curve, "-keyout", str(key), "-out", str(request), "-subj", "/CN=node")
    _openssl(
        "x509", "-req", "-in", str(request), "-CA", str(authority), "-CAkey", str(authority_key), "-CAcreateserial",
        "-days", "2", "-extfile", str(extensions), "-out", str(certificate),
    )  # fmt: skip
    return Certificates(authority, certificate, key)


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
