"""Subscription clustering: who receives the same events belongs together (thesis, chapter 3)."""
