import { describe, expect, test } from 'vitest'
import { type FundsSample, runwaySeconds, sampleAfter } from '../../../src/domain/book/runway.ts'
import { createRandom } from '../../../src/domain/random.ts'

const LOOK_MS = 15_000
const START_WEI = 10n ** 17n

type Burn = {
  readonly looks: number
  /** Wei that a call costs, give or take a third. */
  readonly callWei: bigint
  readonly callsPerLook: number
  /** Wei that are deposited in the middle. */
  readonly depositWei?: bigint
}

/** Calls at a steady rate and uneven prices, and how long the rest lasts at the rate they were made. */
function burn(seed: string, { looks, callWei, callsPerLook, depositWei = 0n }: Burn) {
  const random = createRandom(seed)
  const samples: FundsSample[] = []
  let available = START_WEI
  for (let look = 0; look < looks; look += 1) {
    samples.push(sampleAfter(samples.at(-1), { atMs: look * LOOK_MS, available }))
    for (let call = 0; call < callsPerLook; call += 1)
      available -= (callWei * BigInt(random.between(67, 133))) / 100n
    if (look === Math.floor(looks / 2)) available += depositWei
  }
  const left = samples.at(-1)?.available ?? 0n
  const weiPerSecond = (Number(callWei) * callsPerLook) / (LOOK_MS / 1000)
  return { samples, truthSeconds: Number(left) / weiPerSecond }
}

/** Of what was seen at these times (ms), in wei. */
function runway(...seen: readonly (readonly [atMs: number, available: bigint])[]) {
  const samples: FundsSample[] = []
  for (const [atMs, available] of seen)
    samples.push(sampleAfter(samples.at(-1), { atMs, available }))
  return runwaySeconds(samples)
}

describe('the runway of a steady burn', () => {
  test.each([
    { name: 'five minutes', looks: 20 },
    { name: 'an hour', looks: 240 },
    { name: 'a day', looks: 5_760 },
  ])('is within 20 % of the truth after $name', ({ looks }) => {
    for (let seed = 0; seed < 50; seed += 1) {
      const { samples, truthSeconds } = burn(`${looks} ${seed}`, {
        looks,
        callWei: 4n * 10n ** 12n,
        callsPerLook: 2,
      })
      const seconds = runwaySeconds(samples) ?? 0
      expect(seconds / truthSeconds).toBeGreaterThan(0.8)
      expect(seconds / truthSeconds).toBeLessThan(1.2)
    }
  })

  test('does not count a deposit as negative spending', () => {
    const { samples, truthSeconds } = burn('deposit', {
      looks: 240,
      callWei: 4n * 10n ** 12n,
      callsPerLook: 2,
      depositWei: 3n * START_WEI,
    })
    const seconds = runwaySeconds(samples) ?? 0
    expect(seconds / truthSeconds).toBeGreaterThan(0.8)
    expect(seconds / truthSeconds).toBeLessThan(1.2)
  })

  test('is zero when nothing is left, or less than nothing', () => {
    expect(runway([0, 10n], [60_000, 0n])).toBe(0)
    expect(runway([0, 10n], [60_000, -5n])).toBe(0)
  })

  test('is unknown while nothing was spent, or too little was seen', () => {
    expect(runway()).toBeUndefined()
    expect(runway([0, 10n])).toBeUndefined()
    expect(runway([0, 10n], [59_999, 5n])).toBeUndefined()
    expect(runway([0, 10n], [60_000, 5n])).toBe(60)
    expect(runway([0, 10n], [60_000, 10n])).toBeUndefined()
    expect(runway([0, 10n], [60_000, 20n])).toBeUndefined()
  })
})
