import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { openKept } from '../../../src/sandbox/keep/directory.ts'
import { createGate } from '../../../src/sandbox/keep/gate.ts'
import type { Keep } from '../../../src/sandbox/keep/keeper.ts'
import { decode, encode } from '../../../src/sandbox/keep/keeper.ts'
import { boundTerms } from '../../../src/sandbox/options.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

const TERMS = boundTerms({})

function opened(dir: string, changes: Partial<Parameters<typeof openKept>[0]> = {}): Promise<Keep> {
  return openKept({ dir, terms: TERMS, isNew: false, report: () => undefined, ...changes })
}

/** A snapshot with a mark in each part. */
function snapshot(mark: string): Parameters<Keep['write']>[0] {
  const dump = gzipSync(mark)
  const state = encode({ terms: TERMS, mark, amount: 10n ** 30n })
  return { state, dumps: { base: dump, aggregator: dump } }
}

function markOf({ former }: Keep): readonly unknown[] {
  if (former === undefined) return []
  const { state, stateFiles } = former
  const files = [stateFiles.base, stateFiles.aggregator].map((file) => readFileSync(file, 'utf8'))
  return [(state as unknown as { mark: string }).mark, ...files]
}

const namesIn = (dir: string, part: string): readonly string[] =>
  readdirSync(dir).filter((name) => name.includes(part))

test('bigints are decoded as bigints at any depth', () => {
  const value = { a: 1n, list: [{ b: -(10n ** 40n) }, 'text', 3, null, true] }
  expect(decode(encode(value))).toEqual(value)
})

test('a start resumes from the last snapshot, and older snapshots are removed', async () => {
  const dir = temporaryDirectory()
  const keep = await opened(dir)
  expect(keep.former).toBeUndefined()
  await keep.write(snapshot('one'))
  await keep.write(snapshot('two'))
  const again = await opened(dir)
  expect(markOf(again)).toEqual(['two', 'two', 'two'])
  expect(again.former?.state).toMatchObject({ amount: 10n ** 30n })
  await again.write(snapshot('three'))
  expect(readdirSync(dir)).toHaveLength(3)
})

test('an incomplete snapshot leaves the previous snapshot intact, and foreign files stay', async () => {
  const dir = temporaryDirectory()
  await (await opened(dir)).write(snapshot('whole'))
  const mine = join(dir, 'notes.txt')
  writeFileSync(mine, 'mine')
  writeFileSync(join(dir, 'base-0123456789abcdef.json.gz'), 'half a chain')
  writeFileSync(join(dir, 'kept.json.0123456789abcdef.tmp'), '{"format":1,')
  expect(markOf(await opened(dir))).toEqual(['whole', 'whole', 'whole'])
  expect(namesIn(dir, '0123456789abcdef')).toEqual([])
  expect(readFileSync(mine, 'utf8')).toBe('mine')
})

test('damaged, missing and foreign snapshots are rejected by file, and replaced only on request', async () => {
  const damages: readonly (readonly [damage: (dir: string) => string, message: RegExp])[] = [
    [(dir) => cut(join(dir, 'kept.json')), /is damaged/],
    [(dir) => cut(join(dir, namesIn(dir, 'base-')[0] ?? '')), /is damaged/],
    [(dir) => removed(join(dir, namesIn(dir, 'aggregator-')[0] ?? '')), /is missing/],
    [(dir) => written(join(dir, 'kept.json'), '{ "a": 1 }\n'), /is not the file of a kept sandbox/],
    [(dir) => written(join(dir, 'kept.json'), 'notes'), /is not the file of a kept sandbox/],
    [(dir) => written(join(dir, 'kept.json'), '{"format":2,"sha256":""}\n'), /another version/],
  ]
  for (const [damage, message] of damages) {
    const dir = temporaryDirectory()
    await (await opened(dir)).write(snapshot('whole'))
    const file = damage(dir)
    const refused = await opened(dir).catch((error: Error) => error.message)
    expect(refused).toMatch(message)
    expect(refused).toContain(`${file} `)
    expect(refused).toMatch(/give another place to --keep, or --force to begin a new sandbox/)
    const anew = await opened(dir, { isNew: true })
    expect(anew.former).toBeUndefined()
    await anew.write(snapshot('new'))
    expect(markOf(await opened(dir))).toEqual(['new', 'new', 'new'])
  }
})

test('a sandbox with other bound settings is rejected naming both values, and other settings may change', async () => {
  const dir = temporaryDirectory()
  await (await opened(dir)).write(snapshot('whole'))
  const described = boundTerms({ reading: 'described', seed: 7 })
  await expect(opened(dir, { terms: described })).rejects.toThrow(
    /kept\.json is a sandbox made with aggregator\.gasTank balances, and now balanceOf; .*leave that setting as it was/,
  )
  const other = boundTerms({ seed: 9, gasless: { feeBps: 30 }, aggregator: { window: 5 } })
  expect(markOf(await opened(dir, { terms: other }))[0]).toBe('whole')
})

test('a snapshot is taken between units of work, and work waits for it', async () => {
  const gate = createGate()
  const seen: string[] = []
  let endWork = (): void => undefined
  const work = gate.during(async () => {
    seen.push('work begins')
    await new Promise<void>((resolve) => {
      endWork = resolve
    })
    seen.push('work ends')
  })
  const taking = gate.alone(async () => {
    seen.push('snapshot begins')
    await Promise.resolve()
    seen.push('snapshot ends')
  })
  const next = gate.during(async () => void seen.push('next work'))
  await Promise.resolve()
  expect(seen).toEqual(['work begins'])
  endWork()
  await Promise.all([work, taking, next])
  expect(seen).toEqual([
    'work begins',
    'work ends',
    'snapshot begins',
    'snapshot ends',
    'next work',
  ])
})

test('failing work and a failing snapshot block nothing', async () => {
  const gate = createGate()
  const failing = gate.during(() => Promise.reject(new Error('work')))
  await expect(gate.alone(() => Promise.reject(new Error('snapshot')))).rejects.toThrow('snapshot')
  await expect(failing).rejects.toThrow('work')
  expect(await gate.during(async () => 'on')).toBe('on')
})

function cut(file: string): string {
  truncateSync(file, readFileSync(file).length - 5)
  return file
}

function removed(file: string): string {
  rmSync(file)
  return file
}

function written(file: string, text: string): string {
  writeFileSync(file, text)
  return file
}
