import { encodeFunctionData, type Hex } from 'viem'
import { type Sender, sendOrThrow } from '../../evm/sender.ts'
import { gasTankAbi } from '../chain/abi.ts'
import type { Accounts } from './accounts.ts'

/** Takes everything that is owed out of the GasTank, in one transaction. Returns its hash, if there was any. */
export function createSettlement(deps: {
  readonly relayer: Sender
  readonly accounts: Accounts
  readonly gasTank: Hex
}): () => Promise<Hex | undefined> {
  let running: Promise<Hex | undefined> | undefined
  const settle = async (): Promise<Hex | undefined> => {
    const charges = deps.accounts.outstanding()
    if (charges.length === 0) return undefined
    const { transactionHash } = await sendOrThrow(deps.relayer, 'settling charges', {
      to: deps.gasTank,
      data: encodeFunctionData({ abi: gasTankAbi, functionName: 'charge', args: [charges] }),
    })
    deps.accounts.settled(charges)
    return transactionHash
  }
  return () => {
    // Twice at once would take the same charges twice.
    running ??= settle().finally(() => {
      running = undefined
    })
    return running
  }
}
