import * as z from 'zod'
import { GAS_TANK_METHODS } from '../../domain/settings.ts'
import * as s from '../../system/json-shapes.ts'
import { done, failed, outcome } from './shapes.ts'

export const wallet = done({
  address: s.address('checksummed address of the wallet'),
  keystore: s.text('path of the new keystore file'),
})
export type WalletData = z.output<typeof wallet>

export const walletAddress = done({ address: s.address('checksummed address of the wallet') })
export type WalletAddressData = z.output<typeof walletAddress>

export const walletFailure = failed({ remedy: s.text('how to fix it') })
export type WalletFailureData = z.output<typeof walletFailure>

export const gastankStatus = outcome({
  account: s.address('account that owns the deposit'),
  gasTank: s.address('GasTank contract'),
  chain: s.text('key of the chain in the config'),
  known: s.nullable('whether the service knows the account; null if it gave no answer', s.flag()),
  balance: s.nullable('balance reported by the service; null if unknown', s.amount()),
  outstandingCharge: s.nullable('unsettled charges; null if unknown', s.amount()),
  available: s.nullable('`balance` less `outstandingCharge`; null if unknown', s.amount()),
  onChain: s.nullable("contract's own figure for the account; null if not read", s.amount()),
  methods: s.nullable('generation of the contract; null if not read', z.enum(GAS_TANK_METHODS)),
  indexing: s.flag('whether the last deposit is still missing from `available`'),
  savings: s.nullable('totals of all calls through the service; null without a journal', {
    calls: s.count('calls with a known charge and known savings'),
    charged: s.amount('charges for these calls'),
    saved: s.amount('savings over direct submission; negative if sharing cost more'),
    blob: s.amount('part of `charged` for blob gas'),
    check: s.object('charges compared with the drop in funds', {
      calls: s.count('calls with a known drop in funds'),
      fell: s.amount('drop in funds for these calls'),
      charged: s.amount('charges for these calls'),
    }),
    disputed: s.count('calls whose charge differs from the drop in funds'),
    unknown: s.count('calls with an unknown charge or unknown savings; in no sum'),
    delegation: s.amount('charges for delegations; in no other sum'),
  }),
  runwaySeconds: s.nullable(
    'seconds until the deposit is used up; null if it covers all future calls, no call is due, or the runway is unknown',
    s.count(),
  ),
  assumed: s.nullable('assumptions behind `runwaySeconds`; null if no runway was computed', {
    callsPerDay: s.number('scheduled calls per day'),
    perCall: s.amount('average cost of a call'),
    isSimulated: s.flag('whether a cost is simulated, because nothing was charged yet'),
    delegation: s.amount(
      'expected charge for a delegation that calls wait for; 0 if none is needed, or its cost is unknown',
    ),
  }),
  runwayUnknown: s.nullable('why it is unknown; null if it is known or no call is due', s.text()),
  note: s.nullable('why the account query was not signed; null if it was', s.text()),
  faults: s.list('queries that failed', s.text()),
})
export type GastankStatusData = z.output<typeof gastankStatus>

export const gastankDeposit = outcome({
  message: s.text('human-readable result'),
  deposited: s.amount('amount sent, even if the service has not indexed it yet'),
})
export type GastankDepositData = z.output<typeof gastankDeposit>

const PROPOSER = z.enum(['trustless', 'trusted'])

export const delegationStatus = done({
  account: s.address('account that makes the calls'),
  chainId: s.count('chain id of the account'),
  code: s.text('code of the account in hex; `0x` if it has none'),
  delegate: s.nullable('contract that the account delegates to; null if none', s.address()),
  proposer: s.nullable('proposer in the config that `delegate` is; null if neither', PROPOSER),
  isAsConfigured: s.flag('whether the delegate is the configured proposer'),
  configured: PROPOSER.describe('proposer that the config asks for'),
  nestedNonce: s.nullable('next nonce; null if the account did not answer', s.bigWhole()),
  domain: s.nullable('EIP-712 domain reported by the account; null if none', {
    name: s.text('EIP-712 name'),
    version: s.text('EIP-712 version'),
    chainId: s.bigWhole('EIP-712 chain id'),
    verifyingContract: s.address('EIP-712 verifying contract'),
    hasExtras: s.flag('whether it has a salt or extensions, which are not accepted'),
  }),
  verifyingContract: s.nullable('contract that call signatures name; null if none', s.address()),
})
export type DelegationStatusData = z.output<typeof delegationStatus>

export const delegationChange = outcome({
  message: s.text('human-readable result'),
  account: s.address('account that makes the calls'),
  changed: s.flag('whether the delegation changed'),
  charged: s.nullable('charge reported by the service; null if none or unknown', s.amount()),
})
export type DelegationChangeData = z.output<typeof delegationChange>

const APPROVALS = ['exact', 'budget', 'unlimited'] as const

export const approvalsList = done({
  owner: s.address('trading wallet'),
  permit2: s.address('Permit2 contract'),
  approval: s.oneOf('`gasless.approval` in the config', APPROVALS),
  tokens: s.list("config's tokens on the trading chain", {
    token: s.text('symbol'),
    address: s.address('token contract'),
    allowance: s.nullable('amount that Permit2 may spend; null if not read', s.amount()),
    isUnlimited: s.nullable('whether `allowance` counts as unlimited; null if not read', s.flag()),
    balance: s.nullable('wallet balance; null if not read', s.amount()),
    wants: s.nullable('allowance that the config wants; null if strategy files cannot be read', {
      type: s.oneOf('`nothing` if no strategy sells the token; `exact`: the amount of each order', [
        'nothing',
        ...APPROVALS,
      ]),
      amount: s.nullable('amount of a `budget`; null otherwise', s.amount()),
    }),
  }),
  permit2Rights: s.nullable(
    "entries in Permit2's own allowance table, which the daemon never uses; null if not read",
    s.listOf({
      token: s.text('symbol'),
      amount: s.amount('amount that the spender may take'),
      isUnlimited: s.flag('whether `amount` counts as unlimited'),
      spender: s.address('address that may take it'),
      expiresAt: s.nullable('expiry; null if it never expires', s.time()),
    }),
  ),
})
export type ApprovalsListData = z.output<typeof approvalsList>

export const approvalsRevoke = outcome({
  message: s.text('human-readable result, one line per token'),
  owner: s.address('trading wallet'),
  tokens: s.list('tokens to revoke', {
    token: s.text('symbol'),
    ok: s.flag("whether Permit2's allowance is now zero"),
    changed: s.flag('whether a transaction revoked it'),
  }),
})
export type ApprovalsRevokeData = z.output<typeof approvalsRevoke>
