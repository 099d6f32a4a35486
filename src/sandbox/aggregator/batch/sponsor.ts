import { zeroAddress } from 'viem'
import type { Rpc } from '../../evm/rpc.ts'
import type { Sender } from '../../evm/sender.ts'
import type { Accounts } from '../account/accounts.ts'
import { currentFees, nodeReceipt, readAccount } from '../chain/chain.ts'
import { type Call, faultOf } from './calls.ts'
import type { Authorization } from './raw-transaction.ts'

/** Puts authorizations on the chain in transactions of the service's own. */
export type Sponsor = {
  add(call: Call): void
  tick(nowMs: number): Promise<void>
}

const GAS = 200_000n

export function createSponsor(deps: {
  readonly rpc: Rpc
  readonly relayer: Sender
  readonly accounts: Accounts
}): Sponsor {
  let waiting: Call[] = []
  const sponsor = async (call: Call, authorization: Authorization): Promise<void> => {
    const { code, nonce } = await readAccount(deps.rpc, call.account)
    if (nonce !== authorization.nonce) {
      deps.accounts.resolve(call.account, { reserved: call.reserved, charged: 0n })
      call.progress = {
        state: 'dropped',
        reason: `the account is at nonce ${nonce} now, with code ${code.kind}`,
      }
      return
    }
    const { transactionHash, gasUsed, effectiveGasPrice } = await deps.relayer.send({
      to: zeroAddress,
      gas: GAS,
      fees: await currentFees(deps.rpc),
      authorizations: [authorization.rpc],
    })
    const receipt = await nodeReceipt(deps.rpc, transactionHash)
    if (receipt === null) throw new Error('a receipt that was there is gone')
    const cost = BigInt(gasUsed) * BigInt(effectiveGasPrice)
    deps.accounts.resolve(call.account, { reserved: call.reserved, charged: cost })
    call.progress = {
      state: 'landed',
      receipt,
      batchSize: 1,
      // Alone in its transaction, it costs what it would have cost its sender: nothing is saved.
      costs: {
        executionGas: BigInt(gasUsed),
        directGas: BigInt(gasUsed),
        effectiveGasPrice: BigInt(effectiveGasPrice),
        executionCost: cost,
        blobCost: 0n,
        directCost: cost,
        fee: 0n,
        charged: cost,
        savings: 0n,
      },
    }
  }
  return {
    add: (call) => {
      if (faultOf(call, 'neverIncluded') === undefined) waiting.push(call)
    },
    async tick(nowMs) {
      const due = waiting.filter(({ notBeforeMs }) => notBeforeMs <= nowMs)
      waiting = waiting.filter(({ notBeforeMs }) => notBeforeMs > nowMs)
      for (const call of due) {
        if (call.work.kind === 'delegation') await sponsor(call, call.work.authorization)
      }
    },
  }
}
