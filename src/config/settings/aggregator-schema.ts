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

/** Prefix of the service's own JSON-RPC methods; may be empty. */
export const methodPrefix = textLike(/^[A-Za-z0-9_]{0,32}$/, 'letters, digits and `_`')

/** The HTTP header that carries the signature over a request. */
export const signatureHeader = textLike(/^[A-Za-z0-9-]{1,64}$/, 'the name of an HTTP header')

const contracts = section({
  gasTank: address.describe('GasTank: holds the deposits that pay for calls'),
  multicall: address.describe('Multicall that runs batches through the accounts'),
  trustedProposer: address.describe('Code of the account with `proposer: trusted`'),
  trustlessProposer: address.describe('Code of the account with `proposer: trustless`'),
})

const fallback = section({
  mode: oneOf(['off', 'rejected-only', 'after-deadline'])
    .prefault('after-deadline')
    .describe('When the daemon sends a call directly instead of through the service'),
  deadline: duration({ min: '10s', max: '1h' })
    .prefault('3m')
    .describe(
      'Validity of a signed call. The direct route gets its last third, at most two minutes',
    ),
})

const gasTank = section({
  methods: oneOf(['auto', ...GAS_TANK_METHODS])
    .prefault('auto')
    .describe(
      'Methods of the GasTank: deposit(address) and balances(address), or deposit() and balanceOf(address)',
    ),
  alertBelow: ether.optional().describe('Deposit in ether below which an alert is sent'),
  topUp: section({
    below: ether.describe('Deposit in ether below which the daemon adds to it'),
    amount: ether.describe('Ether to add at once; deposits cannot be withdrawn'),
    maxPerDay: ether.describe('Maximum ether to add in a day'),
  })
    .optional()
    .describe('Automatic deposits; none by default'),
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
    .describe('Recipient of the transaction of a trustless call'),
  bundle: oneOf(['list', 'object'])
    .prefault('list')
    .describe('Parameters of a bundle: [txs, blockNumber], or [{ txs, blockNumber }]'),
  status: section({
    charged: statusField('costs.charged').describe('Charge for the call, in wei'),
    saved: statusField('savings.saved').describe('Savings over direct submission, in wei'),
    blob: statusField('costs.blob_cost').describe('Part of the charge for blob gas, in wei'),
  })
    .prefault({})
    .describe('Fields of a transaction status that report costs'),
})

/** The `aggregator` section: the service that batches signed transactions on Ethereum. */
export const aggregatorSchema = section({
  rpcUrl: webAddress.describe('JSON-RPC URL of the service'),
  chain: nameOf('a key of `chains`').describe('Key of a chain with id 1 or 11155111'),
  wallet: nameOf('a key of `wallets`').describe('Key of a wallet other than the trading wallet'),
  proposer: oneOf(['trustless', 'trusted'])
    .prefault('trustless')
    .describe('Proposer that the account delegates to; `trusted` has no replay guard'),
  submit: oneOf(['transaction', 'bundle'])
    .prefault('transaction')
    .describe('Submission of calls: `eth_sendRawTransaction`, or `eth_sendBundle`'),
  contracts: contracts.describe('Contracts of the service on the chain'),
  targets: z
    .record(nameKey, address, { error: 'a map of name: address, such as { claim: "0x..." }' })
    .prefault({})
    .describe('The only contracts that strategies may call, by name'),
  fallback: fallback.prefault({}).describe('Handling of calls that the service does not execute'),
  gasTank: gasTank.prefault({}).describe('Deposit that pays for calls'),
  wire: wire.prefault({}).describe('Names in this deployment of the service'),
})
