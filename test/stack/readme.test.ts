import { spawn } from 'node:child_process'
import { cp, readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ROOT } from '../support/process/cli.ts'
import { runProcess, temporaryDirectory } from '../support/process/programs.ts'
import { waitFor } from '../support/wait-for.ts'
import { findBinary } from './binary.ts'

/** Commands that run until they are stopped, by how they begin. */
const LASTING = /^(node dist\/tranched\.js sandbox|prometheus) |^npm start$/

let directory: Awaited<ReturnType<typeof temporaryDirectory>>
let clone: string
const lasting: ReturnType<typeof spawn>[] = []

beforeEach(async () => {
  findBinary('prometheus')
  directory = await temporaryDirectory()
  clone = join(directory.path, 'tranched')
  const cloned = await runProcess('git', ['clone', '--quiet', '--no-hardlinks', ROOT, clone])
  expect(cloned.code, cloned.stderr).toBe(0)
  // `npm start` would install and build: `.ci/run` begins with the test that a bare clone does so itself.
  await symlink(join(ROOT, 'node_modules'), join(clone, 'node_modules'))
  await cp(join(ROOT, 'dist'), join(clone, 'dist'), { recursive: true })
  // The files of the tested tree, committed or not: another lock file would install the packages anew.
  for (const file of ['README.md', 'docs/monitoring.md', 'package.json', 'package-lock.json'])
    await cp(join(ROOT, file), join(clone, file))
})

afterEach(async () => {
  await run('npx pm2 kill')
  await Promise.all(
    lasting.splice(0).map(
      (child) =>
        new Promise((resolve) => {
          child.once('close', resolve)
          // The shell and its children.
          if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
        }),
    ),
  )
  await directory?.remove()
})

const env = (): Record<string, string> => ({
  PM2_HOME: join(directory.path, 'pm2'),
  PM2_DISABLE_VERSION_CHECK: 'true',
})

function run(line: string): ReturnType<typeof runProcess> {
  return runProcess('bash', ['-c', `cd '${clone}' && ${line}`], { env: env() })
}

function begin(line: string): void {
  const child = spawn('bash', ['-c', line], {
    cwd: clone,
    env: { ...process.env, ...env() },
    stdio: 'ignore',
    detached: true,
  })
  lasting.push(child)
}

/** The commands of a section as printed there: one list for each terminal. */
async function commandsOf(file: string, heading: string): Promise<readonly (readonly string[])[]> {
  const text = await readFile(join(clone, file), 'utf8')
  const from = text.indexOf(`${heading}\n`)
  const section = text.slice(from, text.indexOf('\n## ', from))
  return section
    .split(/\n(?! {4})/)
    .map((part) => [...part.matchAll(/^ {4}(.+)$/gm)].map(([, line = '']) => line))
    .filter((lines) => lines.length > 0)
}

test('the commands of the README start a sandbox and show its fills', async () => {
  const terminals = await commandsOf('README.md', '## Try it')
  expect(terminals.map(([line]) => line)).toEqual([
    'npm start',
    expect.stringMatching(/^curl /),
    'npm test',
  ])
  const [[start = ''] = [], [metrics = '', ...commands] = []] = terminals
  expect(start).toMatch(LASTING)
  begin(start)
  await waitFor(
    'a fill of buy-weth',
    async () =>
      /fills_total\{strategy="buy-weth".*\} [1-9]/.exec((await run(metrics)).stdout) ?? undefined,
  )
  for (const line of commands) {
    const { code, stdout, stderr } = await run(line)
    expect(code, `${line}\n${stdout}\n${stderr}`).toBe(0)
    expect(stdout, line).toContain('WETH')
  }
})

test('the commands of the README lead from a clone to a folder of its own under pm2', async () => {
  const headings = ['## Write a strategy', '## See what it does', '## Stop it']
  const sections = await Promise.all(headings.map((each) => commandsOf('README.md', each)))
  const [write = [], see = [], stop = []] = sections.map((terminals) => terminals.flat())
  expect(write).toEqual([
    expect.stringMatching(/^alias tranched=/),
    'tranched init my-bot && cd my-bot',
  ])
  const config = 'config/sandbox.yaml'
  // The README's own line is for real money. A halt without a name is for every daemon of the machine.
  const started = `TRANCHED_CONFIG=${config} TRANCHED_HTTP_PORT=0 npx pm2 start ecosystem.config.cjs`
  const home = join(directory.path, 'home')
  const session = (...lines: readonly string[]) =>
    runProcess(
      'bash',
      ['-c', ['shopt -s expand_aliases', 'set -e', `cd '${clone}'`, ...lines].join('\n')],
      {
        env: {
          ...env(),
          HOME: home,
          PATH: [join(clone, 'node_modules/.bin'), process.env['PATH']].join(':'),
        },
      },
    )
  const [alias = ''] = write
  const first = await session(`mkdir -p '${home}'`, ...write, 'tranched validate', started)
  expect(first.code, first.stdout + first.stderr).toBe(0)
  const within = (line: string) => session(alias, 'cd my-bot', line)
  await waitFor(
    'a fill',
    async () => /filled/.exec((await within('tranched status')).stdout) ?? undefined,
  )
  for (const line of [...see, ...stop]) {
    const typed = line
      .replace('NAME', 'buy-weth')
      .replace(/^(tranched (?:halt|resume))/, `$1 --config ${config}`)
    const { code, stdout, stderr } = await within(typed)
    expect(code, `${typed}\n${stdout}\n${stderr}`).toBe(0)
  }
})

test('the commands of the documentation lead from a clone to a Prometheus with fills of both venues', async () => {
  const terminals = await commandsOf('docs/monitoring.md', '### From a clone to a Prometheus')
  expect(terminals).toHaveLength(3)
  const [first = [], second = [], third = []] = terminals
  for (const line of [...first, ...second]) {
    if (LASTING.test(line)) {
      begin(line)
      const config = join(clone, 'data/rehearsal/live.yaml')
      await waitFor('the config', () => readFile(config, 'utf8'))
      continue
    }
    const { code, stdout, stderr } = await run(line)
    expect(code, `${line}\n${stdout}\n${stderr}`).toBe(0)
  }
  const [query = '', ...rest] = third
  const shown = await waitFor('fills of both venues', async () => {
    const { stdout } = await run(query)
    return fillsOf(stdout)
  })
  expect(shown['gasless']).toBeGreaterThan(0)
  expect(shown['aggregated']).toBeGreaterThan(0)
  for (const line of rest) {
    const { code, stdout, stderr } = await run(line)
    expect(code, `${line}\n${stdout}\n${stderr}`).toBe(0)
  }
})

type Answer = {
  readonly data: {
    readonly result: readonly {
      readonly metric: { venue: string }
      readonly value: [number, string]
    }[]
  }
}

/** Fills by venue; undefined before both have one. */
function fillsOf(text: string): Readonly<Record<string, number>> | undefined {
  const { result } = (JSON.parse(text) as Answer).data
  const fills = Object.fromEntries(result.map(({ metric, value }) => [metric.venue, +value[1]]))
  const { gasless = 0, aggregated = 0 } = fills
  return gasless > 0 && aggregated > 0 ? fills : undefined
}
