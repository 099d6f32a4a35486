import type { Address, Hex } from '../domain/money/units.ts'
import type { DaemonState } from './state/daemon-state.ts'

/** A journal record, by its number and the hash that covers all records up to it. */
export type Position = { readonly seq: number; readonly hash: Hex }

/** Content of a wallet's anchor, a file outside the state directory (rule T3). */
export type Anchor = {
  readonly wallet: Address
  readonly chainId: number
  /** Undefined until the state is bound to its chain, and for a wallet on a chain that the state is not bound to. */
  readonly genesisHash: Hex | undefined
  readonly stateId: string
  /** For messages only: directories are moved and mounted elsewhere. */
  readonly stateDir: string
  /** A record that was on disk before anything that depends on it, or on an earlier record, was signed. */
  readonly position: Position
  /** Time of writing; for messages only. */
  readonly atMs: number
}

/** The part of a state directory that is compared with an anchor. */
export type AnchoredState = {
  readonly state: Pick<DaemonState, 'stateId' | 'anchored' | 'bound'>
  readonly head: Position
  /** Hash of the record that the anchor names, if the record is available. */
  readonly hashes: ReadonlyMap<number, Hex>
  /** First record that is available; earlier ones survive only as a snapshot. */
  readonly provenFrom: number
}

export type AnchorFault =
  /** The state records that the anchor existed. */
  | { readonly tag: 'anchor-missing' }
  | { readonly tag: 'anchor-of-other-wallet'; readonly anchor: Anchor }
  | { readonly tag: 'anchor-of-other-chain'; readonly anchor: Anchor }
  | { readonly tag: 'state-missing'; readonly anchor: Anchor }
  /** The wallet trades from another state. */
  | { readonly tag: 'other-state'; readonly anchor: Anchor }
  | { readonly tag: 'state-behind'; readonly anchor: Anchor; readonly head: Position }
  /** The state is long enough, but its records differ from those that were signed for. */
  | { readonly tag: 'state-differs'; readonly anchor: Anchor; readonly head: Position }

type AnchorVerdict = { readonly tag: 'agrees' } | { readonly tag: 'none-yet' } | AnchorFault

/** The wallet whose anchor this should be, as the operator's files name it now. */
export type AnchorOwner = { readonly wallet: Address; readonly chainId: number }

/** Compares a state with its wallet's anchor; `anchor` is undefined if the file does not exist. */
export function checkAnchor(
  anchor: Anchor | undefined,
  owner: AnchorOwner,
  { state, head, hashes, provenFrom }: AnchoredState,
): AnchorVerdict {
  if (anchor === undefined)
    return { tag: state.anchored.has(owner.wallet) ? 'anchor-missing' : 'none-yet' }
  if (anchor.wallet !== owner.wallet) return { tag: 'anchor-of-other-wallet', anchor }
  const isOtherGenesis =
    state.bound?.owner === owner.wallet &&
    anchor.genesisHash !== undefined &&
    anchor.genesisHash !== state.bound.genesisHash
  if (anchor.chainId !== owner.chainId || isOtherGenesis)
    return { tag: 'anchor-of-other-chain', anchor }
  if (head.seq === 0) return { tag: 'state-missing', anchor }
  if (anchor.stateId !== state.stateId) return { tag: 'other-state', anchor }
  if (head.seq < anchor.position.seq) return { tag: 'state-behind', anchor, head }
  const { seq, hash } = anchor.position
  if (hashes.get(seq) !== hash && (hashes.has(seq) || seq >= provenFrom))
    return { tag: 'state-differs', anchor, head }
  return { tag: 'agrees' }
}

/** Wallets that sign with a state, by purpose. Undefined if there is none, or if it signs nothing now. */
export type SigningWallets = {
  readonly trader: Address | undefined
  /** Wallet of the aggregation service's account. */
  readonly operator: Address | undefined
}
