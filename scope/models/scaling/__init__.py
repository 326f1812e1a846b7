"""What more processes give: speed-up, serial share, where the time goes."""
