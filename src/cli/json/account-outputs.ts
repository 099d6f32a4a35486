import * as z from 'zod'
import { GAS_TANK_METHODS } from '../../domain/settings.ts'
import * as s from '../../system/json-shapes.ts'
import { done, failed, outcome } from './shapes.ts'

export const wallet = done({
  address: s.address('with its checksum'),
  keystore: s.text('the file that was written'),
})
export type WalletData = z.output<typeof wallet>

export const walletAddress = done({ address: s.address('with its checksum') })
export type WalletAddressData = z.output<typeof walletAddress>

export const walletFailure = failed({ remedy: s.text('what to do') })
export type WalletFailureData = z.output<typeof walletFailure>

export const gastankStatus = outcome({
  account: s.address('that the deposit belongs to'),
  gasTank: s.address('the contract'),
  chain: s.text('as the config names it'),
  known: s.nullable('whether the service knows the account; null where it did not say', s.flag()),
  balance: s.nullable('by the service; null where it did not say', s.amount()),
  outstandingCharge: s.nullable(
    'charged and not settled yet; null where the service did not say',
    s.amount(),
  ),
  available: s.nullable('what is left for calls; null where the service did not say', s.amount()),
  onChain: s.nullable("the contract's own figure; null where it was not read", s.amount()),
  methods: s.nullable(
    'generation of the contract; null where it was not read',
    z.enum(GAS_TANK_METHODS),
  ),
  indexing: s.flag('whether the last deposit is not in `available` yet'),
  savings: s.nullable('of all calls so far, by the journal; null before there is one', {
    calls: s.count('calls of which charge and price alone are known'),
    charged: s.amount('for them'),
    saved: s.amount('over going alone; negative where sharing cost more'),
    blob: s.amount('part of the charges that was for blobs'),
    check: s.object('what the fall of the funds says of the charges', {
      calls: s.count('calls of which the fall of the funds is known'),
      fell: s.amount('what the funds fell by'),
      charged: s.amount('what was charged for them'),
    }),
    disputed: s.count('calls for which the two differ'),
    unknown: s.count('calls of which a figure is missing; in no sum'),
    delegation: s.amount('what delegations were charged; in no other sum'),
  }),
  runwaySeconds: s.nullable(
    'how long it lasts; null where every call to come is covered, none is due, or the cost is unknown',
    s.count(),
  ),
  assumed: s.nullable('what `runwaySeconds` rests on; null where it rests on nothing', {
    callsPerDay: s.number('how many are due'),
    perCall: s.amount('what each costs'),
    isSimulated: s.flag('whether a cost is a simulation, because nothing was charged yet'),
    delegation: s.amount(
      'what a delegation will be charged that calls wait for; 0 where none is awaited, or its cost is unknown',
    ),
  }),
  runwayUnknown: s.nullable('why it is not known; null where it is, or no call is due', s.text()),
  note: s.nullable(
    'why the service says nothing where that has to be so; null otherwise',
    s.text(),
  ),
  faults: s.list('what could not be asked', s.text()),
})
export type GastankStatusData = z.output<typeof gastankStatus>

export const gastankDeposit = outcome({
  message: s.text('what came of it'),
  deposited: s.amount('what was sent, also where it is not indexed yet'),
})
export type GastankDepositData = z.output<typeof gastankDeposit>

export const delegationStatus = done({
  account: s.address('that calls are made for'),
  chainId: s.count('of its chain'),
  code: s.text('hex; `0x` where there is none'),
  delegate: s.nullable('whose code it is; null where it is none or no delegation', s.address()),
  proposer: s.nullable(
    'which of the config that is; null for none of them',
    z.enum(['trustless', 'trusted']),
  ),
  isAsConfigured: s.flag('whether it is what the config says'),
  configured: s.oneOf('what the config says', ['trustless', 'trusted']),
  nestedNonce: s.nullable('null where the account did not answer', s.bigWhole()),
  domain: s.nullable('what the account answers; null where it does not', {
    name: s.text('of EIP-712'),
    version: s.text('of EIP-712'),
    chainId: s.bigWhole('of EIP-712'),
    verifyingContract: s.address('of EIP-712'),
    hasExtras: s.flag('whether it has a salt or extensions, with which it is not accepted'),
  }),
  verifyingContract: s.nullable(
    'what signatures of calls have to name; null where none would be made',
    s.address(),
  ),
})
export type DelegationStatusData = z.output<typeof delegationStatus>

export const delegationChange = outcome({
  message: s.text('what came of it'),
  account: s.address('that calls are made for'),
  changed: s.flag('false where it was so already, or failed'),
  charged: s.nullable('by the service; null where nothing was, or it does not say', s.amount()),
})
export type DelegationChangeData = z.output<typeof delegationChange>

export const approvalsList = done({
  owner: s.address('wallet that trades'),
  permit2: s.address('contract that may spend'),
  approval: s.oneOf("the config's `gasless.approval`", ['exact', 'budget', 'unlimited']),
  tokens: s.list('tokens of the config on that chain', {
    token: s.text('symbol'),
    address: s.address('of the token'),
    allowance: s.nullable('what Permit2 may spend; null where it was not read', s.amount()),
    isUnlimited: s.nullable('whether it counts as unlimited; null where it was not read', s.flag()),
    balance: s.nullable('in the wallet; null where it was not read', s.amount()),
    wants: s.nullable('what the config wants; null where the strategies cannot be read', {
      type: s.oneOf('`nothing` where no strategy sells it, `exact` what each order takes', [
        'nothing',
        'exact',
        'budget',
        'unlimited',
      ]),
      amount: s.nullable('of a budget; null for any other', s.amount()),
    }),
  }),
  permit2Rights: s.nullable(
    "what stands in Permit2's own table, which this daemon never uses; null where it was not read",
    s.listOf({
      token: s.text('symbol'),
      amount: s.amount('what may be taken'),
      isUnlimited: s.flag('whether it counts as unlimited'),
      spender: s.address('who may take it'),
      expiresAt: s.nullable('null: it never ends', s.time()),
    }),
  ),
})
export type ApprovalsListData = z.output<typeof approvalsList>

export const approvalsRevoke = outcome({
  message: s.text('what came of it, a line for each token'),
  owner: s.address('wallet that trades'),
  tokens: s.list('those that were named', {
    token: s.text('symbol'),
    ok: s.flag('whether Permit2 may spend nothing of it now'),
    changed: s.flag('whether a transaction was mined for it'),
  }),
})
export type ApprovalsRevokeData = z.output<typeof approvalsRevoke>
