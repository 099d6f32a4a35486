import { createHash, timingSafeEqual } from 'node:crypto'
import { json, type Reply } from './replies.ts'

/** Undefined tokens: anyone may look, and nobody may act. The control token also permits looking. */
export type Tokens = { readonly view: string | undefined; readonly control: string | undefined }

const WRONG_PER_MINUTE = 20
const MINUTE_MS = 60_000
const BEARER = /^Bearer (\S{1,256})$/i

/** Checks `Authorization: Bearer TOKEN`, which no other site's page can send here. */
export function createAccess({ view, control }: Tokens, nowMs: () => number) {
  const toControl = control === undefined ? [] : [digestOf(control)]
  const toLook = view === undefined ? [] : [digestOf(view), ...toControl]
  const countWrong = createRate(WRONG_PER_MINUTE, nowMs)
  return {
    /** Why a request is refused; undefined if its token permits it. */
    refusal(to: 'look' | 'control', authorization: string | undefined): Reply | undefined {
      const accepted = to === 'look' ? toLook : toControl
      if (to === 'look' && accepted.length === 0) return undefined
      const given = BEARER.exec(authorization ?? '')?.[1]
      const digest = given === undefined ? undefined : digestOf(given)
      // No early exit: the time tells nothing about the tokens.
      const matches = accepted.filter((each) => digest && timingSafeEqual(each, digest))
      if (matches.length > 0) return undefined
      if (given !== undefined && !countWrong()) return tooMany('too many wrong tokens')
      const error = given === undefined ? 'a token is required' : 'this token does not permit it'
      return { ...json(401, { error }), headers: { 'www-authenticate': 'Bearer' } }
    },
  }
}

/** A function that returns false above so many calls in a minute. */
export function createRate(perMinute: number, nowMs: () => number): () => boolean {
  let times: number[] = []
  return () => {
    const now = nowMs()
    // Times ahead of a clock that was set back are forgotten.
    times = times.filter((at) => at <= now && now - at < MINUTE_MS)
    if (times.length >= perMinute) return false
    times.push(now)
    return true
  }
}

export function tooMany(error: string): Reply {
  return { ...json(429, { error }), headers: { 'retry-after': '60' } }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
