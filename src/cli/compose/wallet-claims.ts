import type { HeldLock } from '../../adapters/state/state-lock.ts'
import { claimWallet, type WalletClaim } from '../../adapters/state/wallet-claim.ts'
import type { SigningWallets } from '../../domain/book/anchor.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Io } from '../io.ts'
import { chainOf } from './services.ts'
import { commandLine } from './state.ts'

type Claimant = { readonly io: Io; readonly command: string; readonly lock: HeldLock }

/**
 * Claims the wallets that a process signs with, on their chains, for as long as it holds its state directory; in `mode: live` alone,
 * for nothing else signs with a key that is worth anything. Throws StateLockedError where another process of the machine has one.
 */
export async function claimWallets(
  settings: Settings,
  { trader, operator }: SigningWallets,
  { io, command, lock }: Claimant,
): Promise<WalletClaim> {
  const { mode, stateDir, gasless, aggregator } = settings
  const claims: WalletClaim[] = []
  const release = (): void => {
    for (const claim of claims) claim.release()
  }
  const wallets = [
    { wallet: trader, chain: gasless.chain },
    { wallet: operator, chain: aggregator?.chain ?? '' },
  ]
  const known = { pid: io.pid, command: commandLine(command), startedAtMs: Date.now(), stateDir }
  try {
    for (const { wallet, chain } of mode === 'live' ? wallets : []) {
      if (wallet === undefined) continue
      const { chainId } = chainOf(settings, chain)
      claims.push(await claimWallet({ chainId, wallet }, known, lock))
    }
  } catch (error) {
    release()
    throw error
  }
  return { release }
}

/** The same while a task runs. */
export async function whileClaimed<Result>(
  settings: Settings,
  wallets: SigningWallets,
  claimant: Claimant,
  task: () => Promise<Result>,
): Promise<Result> {
  const claim = await claimWallets(settings, wallets, claimant)
  try {
    return await task()
  } finally {
    claim.release()
  }
}
