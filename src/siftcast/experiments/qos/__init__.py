"""Subscriber-defined QoS (thesis, chapter 2): what of it is compared with what is printed.

printed_mapping.py   Algorithm 4 exactly as printed, beside its repair in `space.dz`
"""
