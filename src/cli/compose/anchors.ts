import { existsSync } from 'node:fs'
import { StateAnchors } from '../../adapters/state/anchor.ts'
import type { AnchorPlace } from '../../adapters/state/anchor-file.ts'
import type { SigningWallets } from '../../domain/book/anchor.ts'
import type { Settings } from '../../domain/settings.ts'
import type { Clock } from '../../ports.ts'

/**
 * Reads the anchors of a config's wallets (rule T3); undefined but in `mode: live`, for what a dry-run books and what a
 * sandbox of its own signs is worth nothing afterwards. Throws AnchorRefusedError for one that cannot be read.
 */
export async function openAnchors(
  settings: Settings,
  { trader, operator }: SigningWallets,
  clock: Clock,
): Promise<StateAnchors | undefined> {
  const { mode, stateDir, gasless, aggregator } = settings
  if (mode !== 'live') return undefined
  return StateAnchors.read({
    stateDir,
    clock,
    trader: trader && placeOf(settings, gasless, trader),
    operator: operator && aggregator && placeOf(settings, aggregator, operator),
  })
}

/** Whether the wallet that trades has an anchor, whatever it says. */
export function isAnchored({ mode, anchors, gasless }: Settings): boolean {
  const file = anchors.get(gasless.wallet)
  return mode === 'live' && file !== undefined && existsSync(file)
}

function placeOf(
  { anchors, chains }: Settings,
  { wallet: name, chain }: { readonly wallet: string; readonly chain: string },
  wallet: AnchorPlace['wallet'],
): AnchorPlace {
  const file = anchors.get(name)
  const chainId = chains.get(chain)?.chainId
  if (file === undefined || chainId === undefined)
    throw new Error(`wallet ${name} has no anchor, or its chain ${chain} is not configured`)
  return { name, file, wallet, chainId }
}
