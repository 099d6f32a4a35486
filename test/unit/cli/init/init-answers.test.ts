import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { KIND_NAMES } from '../../../../src/strategies/registry.ts'
import { SCHEMAS } from '../../../../src/strategies/schemas.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { filesIn, initFor } from './init-fixture.ts'

/** No answer to any question about live trading. */
const SKIPPED = ['', '', '', '', '', '', '']

const strategiesOf = (dir: string) =>
  filesIn(dir).filter((file) => /^strategies\/(sandbox\/)?[\w-]+\.yaml$/.test(file))

test('defaults apply without a terminal: one strategy for the sandbox and one for a live config', async () => {
  const dir = temporaryDirectory()
  const run = await initFor({ dir })
  expect([run.code, run.stderr]).toEqual([0, ''])
  expect(strategiesOf(dir)).toEqual([
    'strategies/sandbox/buy-weth.yaml',
    'strategies/weekly-eth.yaml',
  ])
  expect(existsSync(join(dir, 'config/live.yaml'))).toBe(true)
})

test('questions on a terminal cover folder, kinds and mode, and Enter takes the defaults', async () => {
  const dir = temporaryDirectory()
  const { code, questions } = await initFor(
    { dir: undefined },
    { answers: [dir, 'twap, call', 'dry-run'] },
  )
  expect(code).toBe(0)
  expect(questions.map((each) => each.split('\n').at(-1))).toEqual([
    'Folder to write into [.]: ',
    'Which kinds, separated by commas, or all [dca]: ',
    'Which mode [live]: ',
  ])
  expect(strategiesOf(dir)).toEqual([
    ...['strategies/claim-weekly.yaml', 'strategies/sandbox/call.yaml'],
    ...['strategies/sandbox/twap.yaml', 'strategies/twap-day.yaml'],
  ])
  expect(existsSync(join(dir, 'config/dry-run.yaml'))).toBe(true)
  expect(existsSync(join(dir, 'config/live.yaml'))).toBe(false)

  const other = temporaryDirectory()
  await initFor({ dir: other }, { answers: ['', '', ...SKIPPED] })
  const usual = temporaryDirectory()
  await initFor({ dir: usual })
  expect(filesIn(other)).toEqual(filesIn(usual))
})

test.each(['dca, threshold and twap', 'dca,threshold, and twap', 'dca and threshold,twap'])(
  'kinds are accepted as people list them: %s',
  async (kinds) => {
    const [listed, plain] = [temporaryDirectory(), temporaryDirectory()]
    expect((await initFor({ dir: listed, kinds, yes: true })).code).toBe(0)
    await initFor({ dir: plain, kinds: 'dca,threshold,twap', yes: true })
    expect(strategiesOf(listed)).toEqual(strategiesOf(plain))
  },
)

test('questions cover only unset flags, and --yes or --json ask none', async () => {
  const ask = async (options: Parameters<typeof initFor>[0]) =>
    (await initFor({ dir: temporaryDirectory(), ...options }, { answers: ['', ...SKIPPED, ''] }))
      .questions
  expect(await ask({ mode: 'sandbox' })).toEqual([expect.stringContaining('Kinds of strategies')])
  expect(await ask({ kinds: 'dca', mode: 'dry-run' })).toEqual([])
  expect((await ask({ kinds: 'dca' }))[0]).toContain("besides the sandbox's")
  expect(await ask({ kinds: 'dca', mode: 'live', amount: '5' })).toHaveLength(6)
  expect(await ask({ yes: true })).toEqual([])
  expect(await ask({ json: true })).toEqual([])
})

test('the wizard lists every kind, and `all` selects them all', async () => {
  const dir = temporaryDirectory()
  const { questions } = await initFor({ dir }, { answers: ['all', 'live', ...SKIPPED] })
  for (const kind of Object.keys(SCHEMAS))
    expect(questions[0]).toMatch(new RegExp(`^ {2}${kind} `, 'm'))
  expect(strategiesOf(dir)).toHaveLength(2 * Object.keys(SCHEMAS).length)
})

test.each([
  [
    { kinds: 'dca,treshold' },
    'flag --kinds: there is no kind of strategy called treshold\n' +
      `  expected: one or more of: ${KIND_NAMES.join(', ')}; or all\n` +
      '  did you mean `threshold`?\n',
  ],
  [{ kinds: 'dca,,twap' }, /^flag --kinds: a name is missing\n {2}expected: .*\n$/],
  [{ kinds: '' }, /^flag --kinds: a name is missing/],
  [{ kinds: 'constructor' }, /no kind of strategy called constructor/],
  [
    { mode: 'dryrun' },
    'flag --mode: there is no mode called dryrun\n' +
      '  expected: one of: live, dry-run, sandbox\n  did you mean `dry-run`?\n',
  ],
])('a flag with %j is rejected before any question or write', async (flags, message) => {
  const dir = join(temporaryDirectory(), 'bot')
  const { code, stderr, stdout, questions } = await initFor({ dir, ...flags }, { answers: [] })
  expect([code, stdout, questions]).toEqual([2, '', []])
  if (typeof message === 'string') expect(stderr).toBe(message)
  else expect(stderr).toMatch(message)
  expect(existsSync(dir)).toBe(false)
})

test('a wrong answer is explained and the question repeated, at most three times', async () => {
  const dir = join(temporaryDirectory(), 'bot')
  const twice = await initFor({ dir, mode: 'sandbox' }, { answers: ['dcaa', 'twap'] })
  expect([twice.code, twice.questions.length]).toEqual([0, 2])
  expect(twice.stderr).toContain('did you mean `dca`?')
  expect(strategiesOf(dir)).toEqual(['strategies/sandbox/twap.yaml'])

  const other = join(temporaryDirectory(), 'bot')
  const never = await initFor({ dir: other, mode: 'sandbox' }, { answers: ['a', 'b', 'c', 'd'] })
  expect([never.code, never.questions.length]).toEqual([2, 3])
  expect(existsSync(other)).toBe(false)
})
