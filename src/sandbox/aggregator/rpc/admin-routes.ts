import type { Hex } from 'viem'
import * as z from 'zod'
import { addressText, tokenAmountText } from '../../../wire/gasless.ts'
import type { AdminRoutes } from '../../admin.ts'
import type { Rpc } from '../../evm/rpc.ts'
import { type Accounts, lower } from '../account/accounts.ts'
import type { Call, CallBook } from '../batch/calls.ts'
import { type AggregatorDeployment, depositFor } from '../chain/deploy.ts'

const grantSchema = z.strictObject({ address: addressText, amount: tokenAmountText })

/** The truth about a transaction, whatever the service was told to say of it. */
export type CallRecord = {
  readonly hash: Hex
  readonly account: Hex
  readonly route: Call['work']['kind']
  readonly state: Call['progress']['state']
  readonly reason: string | null
  readonly batchedTransactionHash: Hex | null
  readonly revertedBatches: readonly Hex[]
  readonly repeatedIn: readonly Hex[]
  readonly charged: string | null
}

/** Controls of the aggregation service on the admin port. */
export function aggregatorAdminRoutes(deps: {
  readonly rpc: Rpc
  readonly deployment: AggregatorDeployment
  readonly accounts: Accounts
  readonly book: CallBook
  readonly settle: () => Promise<Hex | undefined>
}): AdminRoutes {
  return {
    'GET /aggregator/calls': () => Array.from(deps.book.all(), recordOf),
    'GET /aggregator/contracts': () => deps.deployment.contracts,
    'POST /aggregator/fund': async (body) => {
      const { address, amount } = grantSchema.parse(body)
      const balance = BigInt(await deps.rpc.call<Hex>('eth_getBalance', [address, 'latest']))
      const raised: Hex = `0x${(balance + BigInt(amount)).toString(16)}`
      await deps.rpc.call('anvil_setBalance', [address, raised])
    },
    'POST /aggregator/deposit': async (body) => {
      const { address, amount } = grantSchema.parse(body)
      await depositFor(deps.deployment, lower(address as Hex), BigInt(amount))
    },
    'POST /aggregator/settle': async () => ({ transactionHash: (await deps.settle()) ?? null }),
  }
}

function recordOf(call: Call): CallRecord {
  const { progress } = call
  const landed = progress.state === 'landed' ? progress : undefined
  return {
    hash: call.hash,
    account: call.account,
    route: call.work.kind,
    state: progress.state,
    reason: progress.state === 'dropped' ? progress.reason : null,
    batchedTransactionHash: landed?.receipt.transactionHash ?? null,
    revertedBatches: call.revertedBatches,
    repeatedIn: call.repeatedIn,
    charged: landed?.costs?.charged.toString() ?? null,
  }
}
