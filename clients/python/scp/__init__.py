"""A client of the tool service, written from docs/wire-3.0.md alone."""

from .client import Client, Refused
from .receipts import check_receipt

__all__ = ['Client', 'Refused', 'check_receipt']
