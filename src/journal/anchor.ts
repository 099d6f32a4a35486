import type { Address, Hex } from '../domain/money/units.ts'
import type { DaemonState } from './state/daemon-state.ts'

/** A record of the journal, by its number and by the hash that covers all before it. */
export type Position = { readonly seq: number; readonly hash: Hex }

/** What a wallet's anchor, outside the state directory, records of the wallet's state (rule T3). */
export type Anchor = {
  readonly wallet: Address
  readonly chainId: number
  /** Undefined before the state was bound to its chain, and for a wallet whose chain the state is not bound to. */
  readonly genesisHash: Hex | undefined
  readonly stateId: string
  /** For messages only: directories are moved and mounted elsewhere. */
  readonly stateDir: string
  /** A record that was on disk when something was about to be signed because of it or of an earlier one. */
  readonly position: Position
  /** When it was written; for messages only. */
  readonly atMs: number
}

/** Contents of a state directory, as far as an anchor records them. */
export type AnchoredState = {
  readonly state: Pick<DaemonState, 'stateId' | 'anchored' | 'bound'>
  readonly head: Position
  /** Hash of the record that the anchor names, if that record is there. */
  readonly hashes: ReadonlyMap<number, Hex>
  /** Of the records before this one only their result is there. */
  readonly provenFrom: number
}

export type AnchorFault =
  /** The state says that there was one. */
  | { readonly tag: 'anchor-missing' }
  | { readonly tag: 'anchor-of-other-wallet'; readonly anchor: Anchor }
  | { readonly tag: 'anchor-of-other-chain'; readonly anchor: Anchor }
  | { readonly tag: 'state-missing'; readonly anchor: Anchor }
  /** The wallet trades from another one. */
  | { readonly tag: 'other-state'; readonly anchor: Anchor }
  | { readonly tag: 'state-behind'; readonly anchor: Anchor; readonly head: Position }
  /** It is as long, but its records are not those that were signed for. */
  | { readonly tag: 'state-differs'; readonly anchor: Anchor; readonly head: Position }

type AnchorVerdict = { readonly tag: 'agrees' } | { readonly tag: 'none-yet' } | AnchorFault

/** The wallet of an anchor, as the operator's files name it now. */
export type AnchorOwner = { readonly wallet: Address; readonly chainId: number }

/** Compares a state with the anchor of its wallet; `anchor` is undefined where there is no such file. */
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

/** The wallets that sign with a state, by their purpose; undefined where there is none, or it signs nothing now. */
export type SigningWallets = {
  readonly trader: Address | undefined
  /** Of the aggregation service's account. */
  readonly operator: Address | undefined
}
