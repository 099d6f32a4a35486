import type { Address } from '../../../src/domain/money/units.ts'
import { claimWallet } from '../../../src/store/lock/wallet-claim.ts'

/** Child process: claims a wallet and keeps it until it is ended. */
const [wallet = '', stateDir = ''] = process.argv.slice(2)
const holder = {
  pid: process.pid,
  command: 'tranched run',
  startedAtMs: 1_800_000_000_000,
  stateDir,
}
const claimed = { chainId: 8453, wallet: wallet as Address }
await claimWallet(claimed, holder, { overtook: false })
process.on('disconnect', () => process.exit())
process.send?.('claimed')
