import type { SeededRandom } from '../../src/domain/random.ts'

/** Factor by which a number may be too large. */
const TIMES = [2, 1_000, 1_000_000_000] as const

/** An answer in which one number is wrong: zero, slightly off, far too large, or a flipped boolean. */
export function withOneLie<Answer>(answer: Answer, random: SeededRandom): Answer {
  const numbers = countIn(answer)
  if (numbers === 0) return answer
  let left = random.between(1, numbers)
  const lied = (value: unknown): unknown => {
    if (isNumber(value)) {
      left -= 1
      return left === 0 ? otherThan(value, random) : value
    }
    if (Array.isArray(value)) return value.map(lied)
    if (value instanceof Map) return new Map([...value].map(([key, each]) => [key, lied(each)]))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, lied(each)]))
  }
  return lied(answer) as Answer
}

type Scalar = number | bigint | boolean

function isNumber(value: unknown): value is Scalar {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'
}

function countIn(value: unknown): number {
  if (isNumber(value)) return 1
  if (typeof value !== 'object' || value === null) return 0
  const parts = value instanceof Map ? [...value.values()] : Object.values(value)
  return parts.reduce<number>((sum, each) => sum + countIn(each), 0)
}

function otherThan(value: Scalar, random: SeededRandom): Scalar {
  if (typeof value === 'boolean') return !value
  const way = random.between(0, 3)
  const little = random.between(1, 5)
  const times = TIMES[random.between(0, TIMES.length - 1)] ?? 2
  if (typeof value === 'number')
    return [0, value + little, Math.max(0, value - little), value * times][way] ?? 0
  const less = value > BigInt(little) ? value - BigInt(little) : 0n
  return [0n, value + BigInt(little), less, value * BigInt(times)][way] ?? 0n
}
