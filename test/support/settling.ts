import type { IntentId } from '../../src/domain/order/intent.ts'
import type { Verdict } from '../../src/domain/order/manual-resolution.ts'
import type { Evidence } from '../../src/venues/manual/manual-evidence.ts'
import type { Settled } from '../../src/venues/manual/resolve-manually.ts'
import type { Simulation } from '../simulation/simulation.ts'
import { runUntil } from './simulations/run-until.ts'

/** Runs the simulation until a request to its daemon is answered. */
export async function answered<Answer>(sim: Simulation, request: Promise<Answer>): Promise<Answer> {
  let answer: { readonly value: Answer } | { readonly error: unknown } | undefined
  request.then(
    (value) => {
      answer = { value }
    },
    (error: unknown) => {
      answer = { error }
    },
  )
  await runUntil(sim, 'answer', () => answer !== undefined, 10)
  if (answer === undefined || 'error' in answer) throw answer?.error
  return answer.value
}

/** The only open intent. */
export function theOpen(sim: Simulation): { readonly id: IntentId; readonly attempt: number } {
  const [open] = sim.state.intents.values()
  if (open === undefined) throw new Error('nothing is open')
  return { id: open.intent.id, attempt: open.attempt }
}

/** Settles the only open intent by an operator's instruction. */
export function say(sim: Simulation, verdict: Verdict): Promise<Settled> {
  const { id, attempt } = theOpen(sim)
  return answered(sim, sim.control.settle(id, { verdict, attempt }))
}

/** The evidence shown to an operator about the only open intent. */
export async function shown(sim: Simulation, named?: `0x${string}`): Promise<Evidence> {
  const reply = await answered(sim, sim.control.inspect(theOpen(sim).id, named))
  if (!reply.ok) throw new Error(reply.detail)
  return reply.evidence
}

export const DEAD: Verdict = { as: 'dead' }
export const EXECUTED: Verdict = { as: 'executed', txHash: undefined }
