import { InvariantError } from '../../../domain/errors.ts'
import type { Address } from '../../../domain/money/units.ts'
import type { Binding } from '../../state/daemon-state.ts'
import { defineEvent } from '../event.ts'

/** Binding and identity of a state directory, and operator decisions about missing records. */

export const stateBound = defineEvent<Binding & { readonly type: 'bound' }>({
  type: 'bound',
  reduce(state, { mode, chainId, genesisHash, owner }) {
    if (state.bound !== undefined) throw new InvariantError('state is bound to a chain already')
    state.bound = { mode, chainId, genesisHash, owner }
  },
})

/** Gives the state directory its identity. */
export const stateNamed = defineEvent<{ readonly type: 'state-named'; readonly stateId: string }>({
  type: 'state-named',
  reduce(state, { stateId }) {
    if (state.stateId !== undefined) throw new InvariantError('the state has a name already')
    state.stateId = stateId
  },
})

/** The wallet has an anchor outside the state directory that names this state. */
type WalletAnchored = {
  readonly type: 'anchored'
  readonly wallet: Address
  readonly chainId: number
}

export const walletAnchored = defineEvent<WalletAnchored>({
  type: 'anchored',
  reduce(state, { wallet, chainId }) {
    state.anchored.set(wallet, chainId)
  },
})

/** An operator starts afresh: all earlier knowledge is discarded. */
export const begunAnew = defineEvent<{ readonly type: 'begun-anew'; readonly detail: string }>({
  type: 'begun-anew',
  reduce: () => undefined,
})

/** An operator continues without lost records, although the wallet's anchor vouches for them. */
type LossAccepted = { readonly type: 'loss-accepted'; readonly detail: string }

export const lossAccepted = defineEvent<LossAccepted>({
  type: 'loss-accepted',
  reduce(state) {
    // Activity that the lost records explained is accepted together with their loss.
    state.sights.clear()
    for (const open of state.intents.values()) open.isInLoss = true
  },
})

export const STATE_IDENTITY_EVENTS = [
  stateBound,
  stateNamed,
  walletAnchored,
  begunAnew,
  lossAccepted,
] as const
