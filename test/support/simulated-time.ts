import type { VirtualClock } from '../simulation/virtual-clock.ts'

const ANSWER_MS_MAX = 60_000

/** The same port for callers outside the simulation: virtual time runs until the request is settled. */
export function inVirtualTime<Port extends object>(clock: VirtualClock, port: Port): Port {
  return new Proxy(port, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key)
      if (typeof member !== 'function') return member
      return (...args: unknown[]): unknown => {
        const answer: unknown = Reflect.apply(member, target, args)
        return answer instanceof Promise ? settled(clock, answer) : answer
      }
    },
  })
}

async function settled<Value>(clock: VirtualClock, pending: Promise<Value>): Promise<Value> {
  let open = true
  const close = () => {
    open = false
  }
  pending.then(close, close)
  for (let ms = 0; open; ms += 1) {
    if (ms > ANSWER_MS_MAX) throw new Error(`no answer in ${ANSWER_MS_MAX} ms of virtual time`)
    await clock.runUntil(clock.trueMs + 1)
  }
  return pending
}
