import { zeroAddress } from 'viem'
import type { Rpc } from '../../evm/rpc.ts'
import type { Sender } from '../../evm/sender.ts'
import { batchCost, splitCosts } from '../account/account-costs.ts'
import type { Accounts } from '../account/accounts.ts'
import { currentFees, readAccount } from '../chain/aggregator-chain.ts'
import { type Call, faultOf } from './calls.ts'
import type { Authorization } from './raw-transaction.ts'

export type Sponsor = ReturnType<typeof createSponsor>

const GAS = 200_000n

/** Sends customers' authorizations in the service's own transactions. */
export function createSponsor({
  rpc,
  relayer,
  accounts,
}: {
  readonly rpc: Rpc
  readonly relayer: Sender
  readonly accounts: Accounts
}) {
  let waiting: Call[] = []
  const finish = (call: Call, progress: Call['progress'], charged = 0n): void => {
    accounts.resolve(call.account, { reserved: call.reserved, charged })
    call.progress = progress
  }
  const sponsor = async (call: Call, authorization: Authorization): Promise<void> => {
    const { code, nonce } = await readAccount(rpc, call.account)
    const reason = `the account is at nonce ${nonce} now, with code ${code.kind}`
    if (nonce !== authorization.nonce) return finish(call, { state: 'dropped', reason })
    const receipt = await relayer.send({
      to: zeroAddress,
      gas: GAS,
      fees: await currentFees(rpc),
      authorizations: [authorization.rpc],
    })
    // An authorization alone in its transaction costs as much as a direct one, so nothing is saved.
    const alone = { directGas: BigInt(receipt.gasUsed), blobCost: 0n }
    const [costs] = splitCosts(batchCost(receipt), [alone], 0)
    finish(call, { state: 'landed', receipt, batchSize: 1, costs }, costs?.charged)
  }
  return {
    add: (call: Call): void => {
      if (faultOf(call, 'neverIncluded') === undefined) waiting.push(call)
    },
    async tick(nowMs: number): Promise<void> {
      const due = waiting.filter(({ notBeforeMs }) => notBeforeMs <= nowMs)
      waiting = waiting.filter(({ notBeforeMs }) => notBeforeMs > nowMs)
      for (const call of due)
        if (call.work.kind === 'delegation') await sponsor(call, call.work.authorization)
    },
  }
}
