import { join } from 'node:path'
import { expect } from 'vitest'
import type { JournalEvent } from '../../src/journal/events/registry.ts'
import type { CallRecord } from '../../src/sandbox/aggregator/rpc/admin-routes.ts'
import type { Running } from '../support/process/cli.ts'
import { waitFor } from '../support/wait-for.ts'
import { all } from './audit.ts'
import { journaled, type Operator, servedTo } from './operator.ts'
import { everySecond, writeStrategies } from './rehearsal.ts'

export const BENEFICIARY = '0x00000000000000000000000000000000000000c2'
export const STRATEGY = 'claim-often'

/** A claim on every third second; the other strategies of the rehearsal stay disabled. */
export function writeClaims({ rehearsal }: Operator, changes: object = {}): void {
  writeStrategies(join(rehearsal.dir, 'strategies'), {
    [STRATEGY]: {
      name: STRATEGY,
      kind: 'call',
      schedule: { cron: '*/3 * * * * *', missed: 'all', maxLateness: '10m' },
      to: 'demo',
      function: 'claim(address)',
      args: [BENEFICIARY],
      gasLimit: '150000',
      ...changes,
    },
  })
}

export function chargesOf(served: readonly CallRecord[]): bigint {
  return served.reduce((total, { charged }) => total + BigInt(charged ?? 0), 0n)
}

/**
 * Runs the daemon until its journal has the needed events, and stops it as a slot ends: a slot that opens as the daemon
 * stops is left to the next start, and would be open in the history.
 */
export async function runUntil(
  operator: Operator,
  isSo: (events: readonly JournalEvent[]) => boolean,
): Promise<Running> {
  const daemon = operator.rehearsal.daemon()
  await waitFor('the journal to be as needed', () => journaled(operator), isSo)
  const closed = async () => all(await journaled(operator), 'slot-closed').length
  const before = await closed()
  await waitFor('one more slot to end', closed, (count) => count > before)
  expect((await daemon.stop()).code).toBe(0)
  return daemon
}

/** The proven calls of the journal, each with the charge that the service reported for its transaction. */
export async function chargesRecorded(operator: Operator) {
  const served = await servedTo(operator)
  const taken = new Map(served.map((call) => [call.batchedTransactionHash, call.charged]))
  return all(await journaled(operator), 'call-proven').map(({ execution }) => ({
    ...execution,
    recorded: execution.costs.charged?.toString(),
    taken: taken.get(execution.txHash),
  }))
}

/** The initial settings of a rehearsal; the calls need addresses that only its sandbox knows. */
export const IDLE = everySecond('buy-weth', { enabled: false })
