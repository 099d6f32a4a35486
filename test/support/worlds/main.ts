import { parseArgs } from 'node:util'
import { liveCalls } from './calls.ts'
import { liveDay, liveDayAlone } from './day.ts'
import { liveLimits } from './limits.ts'
import type { Lived } from './lived.ts'
import { liveSlices } from './slices.ts'
import { liveYear } from './year.ts'

/** Runs one kind of simulation, seed by seed, for `npm run worlds`. */

const KINDS: Readonly<Record<string, (seed: number) => Promise<Lived>>> = {
  day: liveDay,
  alone: liveDayAlone,
  calls: liveCalls,
  limits: liveLimits,
  slices: liveSlices,
  year: (seed) => liveYear(seed),
}
const EVERY = 25

const { values } = parseArgs({
  options: {
    kind: { type: 'string', default: 'day' },
    from: { type: 'string', default: '1' },
    to: { type: 'string', default: '10' },
  },
})
const live = kindOf(values.kind)
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const [from, to] = [Number(values.from), Number(values.to)]
const sums = new Map<string, number>()
let failed = 0
for (let seed = from; seed <= to; seed += 1) {
  const wrongs = await livedThrough(seed)
  if (wrongs.length > 0) {
    failed += 1
    say(`FAILED ${values.kind} ${seed}: ${wrongs.slice(0, 6).join(' | ')}`)
  }
  if ((seed - from + 1) % EVERY === 0 || seed === to)
    say(`${values.kind}: ${seed - from + 1} of ${to - from + 1} lived, ${failed} failed`)
}
say(`TALLY ${values.kind} ${JSON.stringify(Object.fromEntries([...sums].toSorted()))}`)
process.exitCode = failed > 0 ? 1 : 0

async function livedThrough(seed: number): Promise<readonly string[]> {
  try {
    const { wrongs, tally } = await live(seed)
    for (const [what, count] of tally) sums.set(what, (sums.get(what) ?? 0) + count)
    return wrongs
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)]
  }
}

function kindOf(name: string): (seed: number) => Promise<Lived> {
  const kind = KINDS[name]
  if (kind === undefined) throw new Error(`no kind of world is called ${name}`)
  return kind
}
