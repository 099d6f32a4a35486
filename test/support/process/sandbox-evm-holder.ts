import { startAnvil } from '../../../src/sandbox/evm/anvil.ts'

// Starts a node, prints its process id, and waits until it is killed.
const [, , bin] = process.argv
const anvil = await startAnvil({ chainId: 8453, bin, log: () => undefined })
process.send?.(anvil.pid)
setInterval(() => undefined, 1_000)
