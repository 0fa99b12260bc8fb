"""The papers' experiments, one folder a paper: what was claimed, how we set it up, what came out.

claims.py       a claim, how it is judged, and the verdict
study.py        what a paper's folder offers: configurations, one function that runs one, judges, figures
reproduce.py    the visible loop: sweep on Spark → judge → figures → claims.json and a page
"""
