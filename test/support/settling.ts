import type { IntentId } from '../../src/domain/intent.ts'
import type { Word } from '../../src/domain/word.ts'
import type { Evidence } from '../../src/execute/settle/evidence.ts'
import type { Settled } from '../../src/execute/settle/settle.ts'
import type { World } from '../../src/simulate/world.ts'

/** Lets the world run until something that was asked of its daemon is answered; at most two minutes. */
export async function answered<Answer>(world: World, asked: Promise<Answer>): Promise<Answer> {
  let answer: { readonly value: Answer } | { readonly error: unknown } | undefined
  asked.then(
    (value) => {
      answer = { value }
    },
    (error: unknown) => {
      answer = { error }
    },
  )
  for (let steps = 0; steps < 12_000; steps += 1) {
    await world.runFor(10)
    if (answer !== undefined && 'error' in answer) throw answer.error
    if (answer !== undefined) return answer.value
  }
  throw new Error('no answer came')
}

/** The one intent that is open. */
export function theOpen(world: World): { readonly id: IntentId; readonly attempt: number } {
  const [open] = world.state.intents.values()
  if (open === undefined) throw new Error('nothing is open')
  return { id: open.intent.id, attempt: open.attempt }
}

/** An operator's word on the one intent that is open. */
export function say(world: World, word: Word): Promise<Settled> {
  const { id, attempt } = theOpen(world)
  return answered(world, world.control.settle(id, { word, attempt }))
}

/** What an operator is shown of the one intent that is open. */
export async function shown(world: World, named?: `0x${string}`): Promise<Evidence> {
  const reply = await answered(world, world.control.look(theOpen(world).id, named))
  if (!reply.ok) throw new Error(reply.detail)
  return reply.evidence
}

export const DEAD: Word = { as: 'dead' }
export const EXECUTED: Word = { as: 'executed', txHash: undefined }
