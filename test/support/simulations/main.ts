import { parseArgs } from 'node:util'
import { runCalls } from './calls.ts'
import { runDay, runDayAlone } from './day.ts'
import { runLimits } from './limits.ts'
import type { RunResult } from './run-result.ts'
import { runSlices } from './slices.ts'
import { runYear } from './year.ts'

/** Runs one kind of simulation, seed by seed, for `npm run simulations`. */

const KINDS: Readonly<Record<string, (seed: number) => Promise<RunResult>>> = {
  day: runDay,
  alone: runDayAlone,
  calls: runCalls,
  limits: runLimits,
  slices: runSlices,
  year: (seed) => runYear(seed),
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
  const violations = await violationsOf(seed)
  if (violations.length > 0) {
    failed += 1
    say(`FAILED ${values.kind} ${seed}: ${violations.slice(0, 6).join(' | ')}`)
  }
  if ((seed - from + 1) % EVERY === 0 || seed === to)
    say(`${values.kind}: ${seed - from + 1} of ${to - from + 1} run, ${failed} failed`)
}
say(`TALLY ${values.kind} ${JSON.stringify(Object.fromEntries([...sums].toSorted()))}`)
process.exitCode = failed > 0 ? 1 : 0

async function violationsOf(seed: number): Promise<readonly string[]> {
  try {
    const { violations, tally } = await live(seed)
    for (const [what, count] of tally) sums.set(what, (sums.get(what) ?? 0) + count)
    return violations
  } catch (error) {
    return [error instanceof Error ? (error.stack ?? error.message) : String(error)]
  }
}

function kindOf(name: string): (seed: number) => Promise<RunResult> {
  const kind = KINDS[name]
  if (kind === undefined) throw new Error(`no kind of simulation is called ${name}`)
  return kind
}
