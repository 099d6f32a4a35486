import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import type { Problem } from '../../src/config/yaml/problem.ts'
import { type Ended, run } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { type StrategyFiles, writeStrategies } from './rehearsal.ts'

const SANDBOX = { mode: 'sandbox', stateDir: './data', strategiesDir: './strategies' }

const GOOD = `name: good
kind: dca
schedule: { cron: "0 9 * * 1", timezone: Europe/Berlin }
sell: USDC
buy: WETH
amount: "25"
`

type Given = { readonly config?: object; readonly strategies?: StrategyFiles }
type Directory = { readonly dir: string; readonly run: (command: string) => Promise<Ended> }

/** A config and strategies in a new directory, which a bare command uses. */
function given({ config = {}, strategies = { good: GOOD } }: Given): Directory {
  const dir = temporaryDirectory()
  mkdirSync(join(dir, 'config'))
  writeFileSync(
    join(dir, 'config/sandbox.yaml'),
    stringify({ ...SANDBOX, strategiesDir: '../strategies', ...config }),
  )
  writeStrategies(join(dir, 'strategies'), strategies)
  return { dir, run: (command) => run(command.split(' '), { cwd: dir }) }
}

function problemsIn({ stdout }: Ended): readonly Problem[] {
  return (JSON.parse(stdout) as { problems: readonly Problem[] }).problems
}

test('a misspelt key stops the start with its file, line, column and the intended key', async () => {
  const files = { typo: GOOD.replace('amount:', 'amuont:') }
  const { dir, run } = given({ strategies: files })
  const file = join(dir, 'strategies/typo.yaml')
  const { code, stderr, stdout } = await run('run')
  expect(code).toBe(78)
  expect(stderr).toContain(`${file}:6:1 amuont: unknown key`)
  expect(stderr).toContain('did you mean `amount`?')
  expect(stdout).toBe('')
})

test('validate --json reports every mistake as data, however many there are', async () => {
  const files = {
    first: GOOD.replace('buy: WETH', 'buyy: WETH').replace('Berlin', 'Berlim'),
    second: GOOD.replace('name: good', 'name: Bad Name').replace('0 9 * * 1', '0 25 * * 1'),
  }
  const { dir, run } = given({ strategies: files })
  const validated = await run('validate --json')
  expect(validated.code).toBe(78)
  const positions = problemsIn(validated).map(({ file, line, column, path, suggestion }) => {
    return [file.slice(dir.length), line, column, path, suggestion]
  })
  expect(positions).toEqual(
    expect.arrayContaining([
      ['/strategies/first.yaml', 3, 42, 'schedule.timezone', 'Europe/Berlin'],
      ['/strategies/first.yaml', 5, 1, 'buyy', 'buy'],
      ['/strategies/second.yaml', 1, 7, 'name', null],
      ['/strategies/second.yaml', 3, 22, 'schedule.cron', null],
    ]),
  )

  const { stderr } = await run('validate')
  for (const { file, line, column, message } of problemsIn(validated)) {
    expect(stderr).toContain(`${file}:${line}:${column} `)
    expect(stderr).toContain(message)
  }
})

const MISTAKES: readonly { what: string; given: Given; says: RegExp; remedy: RegExp }[] = [
  {
    what: 'an unset environment variable',
    given: { config: { log: { level: `\${NOT_SET_ANYWHERE}` } } },
    says: /sandbox\.yaml:\d+:\d+ log\.level: the environment variable NOT_SET_ANYWHERE is not set/,
    remedy: /export NOT_SET_ANYWHERE=/,
  },
  {
    what: 'an unknown key',
    given: { config: { stateDri: './x' } },
    says: /sandbox\.yaml:\d+:1 stateDri: unknown key/,
    remedy: /did you mean `stateDir`\?/,
  },
  {
    what: 'a service address in sandbox mode',
    given: { config: { gasless: { baseUrl: 'https://swap.example' } } },
    says: /sandbox\.yaml:\d+:3 gasless\.baseUrl: in sandbox mode the sandbox supplies this/,
    remedy: /this key removed/,
  },
  {
    what: 'a cron pattern without a field',
    given: { strategies: { good: GOOD.replace('0 9 * * 1', '0 9 * *') } },
    says: /good\.yaml:3:20 schedule\.cron: /,
    remedy: /five cron fields/,
  },
  {
    what: 'an unknown time zone',
    given: { strategies: { good: GOOD.replace('Europe/Berlin', 'Mars/Olympus') } },
    says: /good\.yaml:3:\d+ schedule\.timezone: no such time zone/,
    remedy: /IANA time zone/,
  },
  {
    what: 'a token that the config does not name',
    given: { strategies: { good: GOOD.replace('buy: WETH', 'buy: WTEH') } },
    says: /good\.yaml:5:6 buy: /,
    remedy: /did you mean `WETH`\?/,
  },
  {
    what: 'two strategies with one name',
    given: { strategies: { good: GOOD, other: GOOD } },
    says: /other\.yaml:1:7 name: /,
    remedy: /expected: /,
  },
  {
    what: 'a directory without strategies',
    given: { strategies: {} },
    says: /strategies: this directory has no strategy files/,
    remedy: /at least one \*\.yaml file/,
  },
  {
    what: 'a missing strategies directory',
    given: { config: { strategiesDir: './nowhere' } },
    says: /nowhere: there is no such directory/,
    remedy: /strategiesDir naming a directory/,
  },
]

for (const { what, given: files, says, remedy } of MISTAKES) {
  test(`${what} stops the start with 78 and prints a remedy`, async () => {
    const { code, stderr } = await given(files).run('run')
    expect(stderr).toMatch(says)
    expect(stderr).toMatch(remedy)
    expect(code).toBe(78)
  })
}

test('a missing config file is named, with a remedy', async () => {
  const { code, stderr } = await given({}).run('run --config nowhere.yaml')
  expect(code).toBe(78)
  expect(stderr).toMatch(/nowhere\.yaml: there is no such file[\s\S]*tranched init/)
})

test('a missing command, flag or valid value exits with 2 and points at the help', async () => {
  const { run } = given({})
  const commands = ['frobnicate', 'run --frob', 'run --for 3x', 'run now', 'history --limit none']
  for (const command of commands) {
    const { code, stderr } = await run(command)
    expect(code, command).toBe(2)
    expect(stderr, command).toMatch(/^(error|flag --(frob|for|limit)): [\s\S]*--help/)
  }
})
