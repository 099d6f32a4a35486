import { type Check, type CheckId, fault, unknown } from './check.ts'

/** What a look came to: something to judge, or what to say of its lack. */
export type Looked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly checks: readonly Check[] }

/** How long one look may take. */
export const LOOK_MS_MAX = 5_000

const LATE = Symbol('late')

/** Whoever looks waits no longer than that, and what goes wrong with one look stops no other. Never rejects. */
export async function look<Value>(
  id: CheckId,
  ask: () => Promise<Value>,
  msMax: number = LOOK_MS_MAX,
): Promise<Looked<Value>> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => resolve(LATE), msMax)
  })
  try {
    const value = await Promise.race([ask(), late])
    if (value !== LATE) return { ok: true, value }
    return missed(unknown(id, `${id}: no answer within ${msMax / 1_000} s, so nothing is known`))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return missed(unknown(id, `${id}: it could not be looked at: ${why}`))
  } finally {
    clearTimeout(timer)
  }
}

function missed(check: Check): Looked<never> {
  return { ok: false, checks: [check] }
}

/** Judges what was looked at. */
export async function lookAndJudge<Value>(
  id: CheckId,
  ask: () => Promise<Value>,
  judge: (value: Value) => readonly Check[],
): Promise<readonly Check[]> {
  const looked = await look(id, ask)
  return looked.ok ? judge(looked.value) : looked.checks
}

type ChainAnswer<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly fault: { readonly message: string } }

/** The same of a chain's answer, whose faults are told as what is not known. */
export function lookAtChain<Value>(
  id: CheckId,
  ask: () => Promise<ChainAnswer<Value>>,
  judge: (value: Value) => readonly Check[],
): Promise<readonly Check[]> {
  return lookAndJudge(id, ask, (reply) =>
    reply.ok
      ? judge(reply.value)
      : [
          fault(
            id,
            `${id}: it could not be read: ${reply.fault.message}`,
            'see what is said of its chain',
          ),
        ],
  )
}
