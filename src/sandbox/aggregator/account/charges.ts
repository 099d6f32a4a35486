import { encodeFunctionData, type Hex } from 'viem'
import { sendOrThrow } from '../../evm/sender.ts'
import { gasTankBalanceOfAbi } from '../chain/abi.ts'
import type { AggregatorDeployment } from '../chain/deploy.ts'
import type { Accounts, Charge } from './accounts.ts'

/**
 * Settles everything that is owed. A GasTank that is charged loses it in one transaction, whose hash is returned; with one
 * that only takes deposits the service's own books move, and nothing happens on the chain.
 */
export function createSettlement(deps: {
  readonly deployment: AggregatorDeployment
  readonly accounts: Accounts
}): () => Promise<Hex | undefined> {
  const { deployment, accounts } = deps
  let running: Promise<Hex | undefined> | undefined
  const settle = async (): Promise<Hex | undefined> => {
    const charges = accounts.outstanding()
    if (charges.length === 0) return undefined
    const hash = deployment.gasTank === 'balanceOf' ? await takeOut(deployment, charges) : undefined
    accounts.settled(charges)
    return hash
  }
  return () => {
    // Twice at once would take the same charges twice.
    running ??= settle().finally(() => {
      running = undefined
    })
    return running
  }
}

async function takeOut(
  { contracts, relayer }: AggregatorDeployment,
  charges: readonly Charge[],
): Promise<Hex> {
  const { transactionHash } = await sendOrThrow(relayer, 'settling charges', {
    to: contracts.gasTank,
    data: encodeFunctionData({
      abi: gasTankBalanceOfAbi,
      functionName: 'charge',
      args: [charges],
    }),
  })
  return transactionHash
}
