import { expect, test } from 'vitest'
import type { StrategyPut } from '../../../src/strategies/files/load-strategies.ts'
import { loadTexts, STRATEGY, settingsOf } from './config-fixture.ts'

const DIPS = `${STRATEGY}dip:
  - { drop: 5%, amount: "50" }
  - { drop: 10%, amount: "75" }
dipWindow: 30d
`

function put(path: StrategyPut['path'], text: string, strategy = 'weekly-eth'): StrategyPut {
  return { strategy, path, text, origin: `--sweep ${path.join('.')}=${text}` }
}

function loaded(...puts: readonly StrategyPut[]) {
  return loadTexts({ 'one.yaml': DIPS, 'two.yaml': other(DIPS) }, settingsOf(), puts)
}

const other = (text: string): string => text.replace('weekly-eth', 'other')

test("a put value replaces that of its file, in maps and lists, and no other file's", () => {
  const found = loaded(
    put(['amount'], '30'),
    put(['dip', 1, 'drop'], '12%'),
    put(['slippageBps'], '80'),
  )
  if (!found.ok) throw new Error(JSON.stringify(found.problems))
  expect(found.strategies).toMatchObject([
    {
      name: 'weekly-eth',
      size: { amount: 30_000_000n },
      dips: [{ dropBps: 1_200 }, { dropBps: 500 }],
      slippageBps: 80,
    },
    { name: 'other', size: { amount: 25_000_000n } },
  ])
})

test('a wrong put value is reported under the flag that put it', () => {
  const found = loaded(put(['dip', 0, 'drop'], '200%'), put(['amuont'], '3'))
  expect(found.ok ? [] : found.problems).toMatchObject([
    { file: '--sweep amuont=3', line: 0, path: 'amuont', suggestion: 'amount' },
    { file: '--sweep dip.0.drop=200%', line: 0, path: 'dip[0].drop' },
  ])
})

test.each([
  [['dip', 2, 'drop'], 'dip[2].drop'],
  [['amount', 'much'], 'amount.much'],
] as const)('the missing place %j is reported', (path, reportedPath) => {
  const found = loaded(put(path, '20%'))
  expect(found.ok ? [] : found.problems).toMatchObject([
    {
      file: `--sweep ${path.join('.')}=20%`,
      path: reportedPath,
      message: 'the file has no such place',
    },
  ])
})
