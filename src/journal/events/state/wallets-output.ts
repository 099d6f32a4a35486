import { etherText } from '../../wording/costs.ts'
import { line, type Outputs } from '../output.ts'

export const WALLET_OUTPUTS = {
  'wallet-compared': {
    level: 'debug',
    line: ({ wallet, chainId, blockNumber }) =>
      line(`compared the journal of wallet ${wallet} with chain ${chainId}`, {
        wallet,
        chainId,
        blockNumber: `${blockNumber}`,
      }),
    notify: null,
    title: ({ blockNumber }) => `wallet compared with its chain up to block ${blockNumber}`,
  },

  'delegation-signed': {
    level: 'info',
    line: ({ account, delegate }) =>
      line(`a delegation of ${account} to ${delegate} is signed`, { account, delegate }),
    notify: null,
    title: ({ delegate }) => `delegation to ${delegate} signed`,
  },

  'delegation-charged': {
    level: 'info',
    line: ({ account, charged }) =>
      line(`the service charged ${etherText(charged)} for the delegation of ${account}`, {
        account,
        charged: `${charged}`,
      }),
    notify: null,
    title: ({ charged }) => `delegation charged ${etherText(charged)}`,
  },
} satisfies Partial<Outputs>
