import type { Hex } from 'viem'
import * as z from 'zod'
import { addressText, tokenAmountText } from '../../../venues/swap/client/gasless-wire.ts'
import type { AdminRoutes } from '../../admin.ts'
import { addBalance } from '../../evm/deploy.ts'
import type { Rpc } from '../../evm/rpc.ts'
import { lower } from '../account/accounts.ts'
import type { Call, CallStore, NodeReceipt } from '../batch/calls.ts'
import { type AggregatorDeployment, depositFor } from '../chain/deploy.ts'

import { receiptOf, statusText } from './status.ts'

const grantSchema = z.strictObject({ address: addressText, amount: tokenAmountText })

export function aggregatorAdminRoutes(deps: {
  readonly rpc: Rpc
  readonly deployment: AggregatorDeployment
  readonly store: CallStore
  readonly settle: () => Promise<Hex | undefined>
}): AdminRoutes {
  return {
    'GET /aggregator/calls': () =>
      Promise.all(
        Array.from(deps.store.all(), async (call) =>
          recordOf(call, await receiptOf(deps.rpc, call)),
        ),
      ),
    'GET /aggregator/contracts': () => deps.deployment.contracts,
    'POST /aggregator/fund': async (body) => {
      const { address, amount } = grantSchema.parse(body)
      await addBalance(deps.rpc, address as Hex, BigInt(amount))
    },
    'POST /aggregator/deposit': async (body) => {
      const { address, amount } = grantSchema.parse(body)
      await depositFor(deps.deployment, lower(address as Hex), BigInt(amount))
    },
    'POST /aggregator/settle': async () => ({ transactionHash: (await deps.settle()) ?? null }),
  }
}

export type CallRecord = ReturnType<typeof recordOf>

/** The true state of a transaction, regardless of the faults in the service's answers. */
function recordOf(call: Call, receipt: NodeReceipt | null) {
  const { progress, work } = call
  const landed = progress.state === 'landed' ? progress : undefined
  return {
    hash: call.hash,
    account: call.account,
    route: work.kind,
    state: work.kind === 'direct' ? statusText(call, receipt) : progress.state,
    reason: progress.state === 'dropped' ? progress.reason : null,
    batchedTransactionHash: landed?.receipt.transactionHash ?? null,
    revertedBatches: call.revertedBatches,
    repeatedIn: call.repeatedIn,
    charged: landed?.costs?.charged.toString() ?? null,
  }
}
