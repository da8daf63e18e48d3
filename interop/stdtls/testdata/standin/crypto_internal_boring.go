package boring

const Enabled = false
