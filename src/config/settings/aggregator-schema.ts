import * as z from 'zod'
import { GAS_TANK_METHODS } from '../../domain/settings.ts'
import { ether } from '../amount-scalars.ts'
import {
  address,
  duration,
  nameKey,
  nameOf,
  oneOf,
  section,
  textLike,
  webAddress,
} from '../scalars.ts'

/** What the service's own JSON-RPC methods begin with; may be nothing. */
export const methodPrefix = textLike(/^[A-Za-z0-9_]{0,32}$/, 'letters, digits and `_`')

/** The HTTP header that carries the signature over a request. */
export const signatureHeader = textLike(/^[A-Za-z0-9-]{1,64}$/, 'the name of an HTTP header')

const contracts = section({
  gasTank: address.describe('Holds the deposits that calls are charged to'),
  multicall: address.describe('What batches call the accounts through'),
  trustedProposer: address.describe('Code that an account delegates to with `proposer: trusted`'),
  trustlessProposer: address.describe(
    'Code that an account delegates to with `proposer: trustless`',
  ),
})

const fallback = section({
  mode: oneOf(['off', 'rejected-only', 'after-deadline'])
    .prefault('after-deadline')
    .describe('When a call is sent directly instead of through the service'),
  deadline: duration({ min: '10s', max: '1h' })
    .prefault('3m')
    .describe(
      'How long a signed call stays valid. Of this the direct route has the last third, at most two minutes',
    ),
})

const gasTank = section({
  methods: oneOf(['auto', ...GAS_TANK_METHODS])
    .prefault('auto')
    .describe(
      'What the GasTank answers to: deposit(address) and balances(address), or deposit() and balanceOf(address)',
    ),
  alertBelow: ether.optional().describe('Ether; below it an alert is sent'),
  topUp: section({
    below: ether.describe('Ether; below it a deposit is made'),
    amount: ether.describe('Ether of one deposit; deposits cannot be withdrawn'),
    maxPerDay: ether.describe('Ether that deposits may add up to in a day'),
  })
    .optional()
    .describe('Deposits that the daemon makes by itself; none unless it is here'),
})

function statusField(common: string) {
  const names = /^[A-Za-z0-9_]{1,64}(\.[A-Za-z0-9_]{1,64}){0,4}$/
  return textLike(names, 'field names joined by dots').prefault(common)
}

const wire = section({
  methodPrefix: methodPrefix.prefault('agg_').describe('Prefix of the JSON-RPC methods'),
  signatureHeader: signatureHeader
    .prefault('X-Relay-Signature')
    .describe('Header that authenticates a request'),
  envelopeTo: oneOf(['account', 'proposer'])
    .prefault('account')
    .describe('Where the transaction of a trustless call is addressed to'),
  status: section({
    charged: statusField('costs.charged').describe('What a call was charged, in wei'),
    saved: statusField('savings.saved').describe('What it would have cost more directly'),
    blob: statusField('costs.blob_cost').describe('Of the charge, what blob gas came to'),
  })
    .prefault({})
    .describe('Where the service reports costs in a transaction status'),
})

/** The `aggregator` section: the service that batches signed transactions on Ethereum. */
export const aggregatorSchema = section({
  rpcUrl: webAddress.describe('JSON-RPC address of the service'),
  chain: nameOf('a key of `chains`').describe('Key of a chain with id 1 or 11155111'),
  wallet: nameOf('a key of `wallets`').describe('Key of a wallet; not the one that trades on Base'),
  proposer: oneOf(['trustless', 'trusted'])
    .prefault('trustless')
    .describe('trusted has no replay guard'),
  contracts: contracts.describe('Where the contracts of the service are on the chain'),
  targets: z
    .record(nameKey, address, { error: 'a map of name: address, such as { claim: "0x..." }' })
    .prefault({})
    .describe('The only contracts that a strategy may call, by name'),
  fallback: fallback
    .prefault({})
    .describe('What becomes of a call that the service does not execute'),
  gasTank: gasTank.prefault({}).describe('The deposit that calls are charged to'),
  wire: wire.prefault({}).describe('Names of this deployment of the service'),
})
