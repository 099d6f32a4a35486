import { notification } from '../../wording/notice.ts'
import { sentence } from '../../wording/text.ts'
import { line, type Outputs } from '../output.ts'

export const STATE_IDENTITY_OUTPUTS = {
  bound: {
    level: 'debug',
    line: ({ mode, chainId, owner }) =>
      line(`state bound to ${mode} mode, chain ${chainId} and wallet ${owner}`, {
        mode,
        chainId,
        owner,
      }),
    notify: null,
    title: ({ mode }) => `state bound to its chain, in mode ${mode}`,
  },

  'state-named': {
    level: 'debug',
    line: ({ stateId }) => line(`the state is ${stateId} from now on`, { stateId }),
    notify: null,
    title: () => 'state named',
  },

  anchored: {
    level: 'info',
    line: ({ wallet, chainId }) =>
      line(`the state is anchored outside its directory for wallet ${wallet}`, { wallet, chainId }),
    notify: null,
    title: ({ wallet }) => `anchor made for ${wallet}`,
  },

  'begun-anew': {
    level: 'warn',
    line: ({ detail }) => line(`an operator began with fresh state: ${detail}`),
    notify: ({ detail }) =>
      notification('state', 'The daemon began with fresh state', [
        ...sentence(detail),
        'Caps, TWAP progress and open orders are forgotten.',
      ]),
    title: () => 'an operator began with fresh state',
  },

  'loss-accepted': {
    level: 'warn',
    line: ({ detail }) => line(`an operator accepted the loss of records: ${detail}`),
    notify: ({ detail }) =>
      notification('state', 'The daemon continues although records are lost', [
        ...sentence(detail),
        'Slots up to then count as missed.',
      ]),
    title: () => 'an operator accepted the loss of records',
  },
} satisfies Partial<Outputs>
