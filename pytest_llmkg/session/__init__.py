"""What one pytest session does, in each of its processes: holds dialogues, keeps them, tells of them."""
