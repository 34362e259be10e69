"""Read text and bytes into plain frozen records, and write them. Independent of `rpsr.models`."""
