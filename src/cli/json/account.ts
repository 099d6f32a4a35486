import * as z from 'zod'
import { GAS_TANK_METHODS } from '../../domain/settings.ts'
import {
  address,
  amount,
  bigWhole,
  count,
  done,
  failed,
  flag,
  judged,
  list,
  text,
  time,
} from './shapes.ts'

/** Outputs of the commands for keys and accounts. Ether is an amount of the token ETH. */

export const wallet = done({
  address: address().describe('with its checksum'),
  keystore: text().describe('the file that was written'),
})
export type WalletData = z.output<typeof wallet>

export const walletAddress = done({ address: address().describe('with its checksum') })
export type WalletAddressData = z.output<typeof walletAddress>

export const walletFailure = failed({ remedy: text().describe('what to do') })
export type WalletFailureData = z.output<typeof walletFailure>

export const gastankStatus = judged({
  account: address().describe('that the deposit belongs to'),
  gasTank: address().describe('the contract'),
  chain: text().describe('as the config names it'),
  known: flag()
    .nullable()
    .describe('whether the service knows the account; null where it did not say'),
  balance: amount().nullable().describe('by the service; null where it did not say'),
  outstandingCharge: amount()
    .nullable()
    .describe('charged and not settled yet; null where the service did not say'),
  available: amount()
    .nullable()
    .describe('what is left for calls; null where the service did not say'),
  onChain: amount().nullable().describe("the contract's own figure; null where it was not read"),
  methods: z
    .enum(GAS_TANK_METHODS)
    .nullable()
    .describe('generation of the contract; null where it was not read'),
  indexing: flag().describe('whether the last deposit is not in `available` yet'),
  savings: z
    .strictObject({
      calls: count().describe('calls of which charge and price alone are known'),
      charged: amount().describe('for them'),
      saved: amount().describe('over going alone; negative where sharing cost more'),
      blob: amount().describe('part of the charges that was for blobs'),
      check: z
        .strictObject({
          calls: count().describe('calls of which the fall of the funds is known'),
          fell: amount().describe('what the funds fell by'),
          charged: amount().describe('what was charged for them'),
        })
        .describe('what the fall of the funds says of the charges'),
      disputed: count().describe('calls for which the two differ'),
      unknown: count().describe('calls of which a figure is missing; in no sum'),
      delegation: amount().describe('what delegations were charged; in no other sum'),
    })
    .nullable()
    .describe('of all calls so far, by the journal; null before there is one'),
  runwaySeconds: count()
    .nullable()
    .describe(
      'how long it lasts; null where every call to come is covered, none is due, or nobody can tell',
    ),
  assumed: z
    .strictObject({
      callsPerDay: z.number().describe('how many are due'),
      perCall: amount().describe('what each costs'),
      isSimulated: flag().describe(
        'whether a cost is a simulation, because nothing was charged yet',
      ),
      delegation: amount().describe(
        'what a delegation will be charged that calls wait for; 0 where none is awaited, or nobody can tell',
      ),
    })
    .nullable()
    .describe('what `runwaySeconds` rests on; null where it rests on nothing'),
  runwayUnknown: text()
    .nullable()
    .describe('why it is not known; null where it is, or no call is due'),
  note: text()
    .nullable()
    .describe('why the service says nothing where that has to be so; null otherwise'),
  faults: list(text()).describe('what could not be asked'),
})
export type GastankStatusData = z.output<typeof gastankStatus>

export const gastankDeposit = judged({
  message: text().describe('what came of it'),
  deposited: amount().describe('what was sent, also where it is not indexed yet'),
})
export type GastankDepositData = z.output<typeof gastankDeposit>

export const delegationStatus = done({
  account: address().describe('that calls are made for'),
  chainId: count().describe('of its chain'),
  code: text().describe('hex; `0x` where there is none'),
  delegate: address()
    .nullable()
    .describe('whose code it is; null where it is none or no delegation'),
  proposer: z
    .enum(['trustless', 'trusted'])
    .nullable()
    .describe('which of the config that is; null for none of them'),
  isAsConfigured: flag().describe('whether it is what the config says'),
  configured: z.enum(['trustless', 'trusted']).describe('what the config says'),
  nestedNonce: bigWhole().nullable().describe('null where the account did not answer'),
  domain: z
    .strictObject({
      name: text().describe('of EIP-712'),
      version: text().describe('of EIP-712'),
      chainId: bigWhole().describe('of EIP-712'),
      verifyingContract: address().describe('of EIP-712'),
      hasExtras: flag().describe(
        'whether it has a salt or extensions, with which it is not accepted',
      ),
    })
    .nullable()
    .describe('what the account answers; null where it does not'),
  verifyingContract: address()
    .nullable()
    .describe('what signatures of calls have to name; null where none would be made'),
})
export type DelegationStatusData = z.output<typeof delegationStatus>

export const delegationChange = judged({
  message: text().describe('what came of it'),
  account: address().describe('that calls are made for'),
  changed: flag().describe('false where it was so already, or failed'),
  charged: amount()
    .nullable()
    .describe('by the service; null where nothing was, or it does not say'),
})
export type DelegationChangeData = z.output<typeof delegationChange>

export const approvalsList = done({
  owner: address().describe('wallet that trades'),
  permit2: address().describe('contract that may spend'),
  approval: z.enum(['exact', 'budget', 'unlimited']).describe("the config's `gasless.approval`"),
  tokens: list(
    z.strictObject({
      token: text().describe('symbol'),
      address: address().describe('of the token'),
      allowance: amount().nullable().describe('what Permit2 may spend; null where it was not read'),
      isUnlimited: flag()
        .nullable()
        .describe('whether that is no sum that anybody reckons with; null where it was not read'),
      balance: amount().nullable().describe('in the wallet; null where it was not read'),
      wants: z
        .strictObject({
          type: z
            .enum(['nothing', 'exact', 'budget', 'unlimited'])
            .describe('`nothing` where no strategy sells it, `exact` what each order takes'),
          amount: amount().nullable().describe('of a budget; null for any other'),
        })
        .nullable()
        .describe('what the config wants; null where the strategies cannot be read'),
    }),
  ).describe('tokens of the config on that chain'),
  permit2Rights: list(
    z.strictObject({
      token: text().describe('symbol'),
      amount: amount().describe('what may be taken'),
      isUnlimited: flag().describe('whether that is no sum that anybody reckons with'),
      spender: address().describe('who may take it'),
      expiresAt: time().nullable().describe('null: it never ends'),
    }),
  )
    .nullable()
    .describe(
      "what stands in Permit2's own table, which this daemon never uses; null where it was not read",
    ),
})
export type ApprovalsListData = z.output<typeof approvalsList>

export const approvalsRevoke = judged({
  message: text().describe('what came of it, a line for each token'),
  owner: address().describe('wallet that trades'),
  tokens: list(
    z.strictObject({
      token: text().describe('symbol'),
      ok: flag().describe('whether Permit2 may spend nothing of it now'),
      changed: flag().describe('whether a transaction was mined for it'),
    }),
  ).describe('those that were named'),
})
export type ApprovalsRevokeData = z.output<typeof approvalsRevoke>
