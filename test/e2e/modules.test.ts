import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { run } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'
import { all, audit } from './audit.ts'
import { everySecond, type Rehearsal, type StrategyFiles, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

const SCHEMA = 'export const schema = { safeParse: (data) => ({ success: true, data }) }\n'

/** Attempts of a module to reach the key: each returns the name of the secret or resource that it reached. */
const REACH = `${SCHEMA}
const part = (name) => globalThis.process.getBuiltinModule(name)
const ways = {
  key: (params) => part('fs').readFileSync(params.key, 'utf8'),
  environment: () => Object.keys(process.env).length > 0 || undefined.none,
  'environment of the daemon': () => part('fs').readFileSync('/proc/' + process.ppid + '/environ'),
  file: (params) => part('fs').writeFileSync(params.file, 'was here'),
  process: () => part('child_process').execFileSync('true'),
  signal: () => process.kill(process.ppid, 0) || process.kill(process.pid, 0),
  network: () => part('net').connect(1).on('error', () => undefined),
  fetch: () => fetch('http://127.0.0.1:1').catch(() => undefined),
}
export function decide({ params }) {
  const reached = Object.keys(ways).filter((name) => {
    try {
      ways[name](params)
      return true
    } catch {
      return false
    }
  })
  return { skip: 'reached: ' + reached.join(', ') }
}`

const MODULES = {
  loop: `${SCHEMA}export function decide() { for (;;); }`,
  hog: `${SCHEMA}export function decide() { for (const all = []; ;) all.push(new Array(1e6).fill({})) }`,
  fine: `${SCHEMA}import { label } from './label.mjs'\nexport const decide = () => ({ skip: label })`,
  reach: REACH,
}

/** Strategies with modules, each due every two seconds, in a folder of their own. */
function custom(names: readonly (keyof typeof MODULES)[], params = {}): StrategyFiles {
  const dir = temporaryDirectory()
  writeFileSync(join(dir, 'label.mjs'), `export const label = 'first label'`)
  const files = names.map((name) => {
    const module = join(dir, `${name}.mjs`)
    writeFileSync(module, MODULES[name])
    const schedule = { cron: '*/2 * * * * *' }
    const limits = { perDay: { USDC: '100', WETH: '1' } }
    return [
      name,
      { name, kind: 'custom', schedule, module, tokens: ['USDC', 'WETH'], params, limits },
    ]
  })
  return Object.fromEntries(files)
}

/** Command lines of processes that name a folder, on Linux. */
function processesOf(dir: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return command.includes(dir) && command.includes('module-runner') ? [command] : []
      } catch {
        return []
      }
    })
}

function folderOf(files: StrategyFiles, name: string): string {
  return (files[name] as { module: string }).module.replace(/\/[^/]*$/, '')
}

async function detailsOf(rehearsal: Rehearsal, name: string) {
  const { events, discrepancies } = await audit(rehearsal)
  expect(discrepancies).toEqual([])
  const closed = all(events, 'slot-closed').filter(({ strategy }) => strategy === name)
  return [...new Set(closed.map(({ detail }) => detail))]
}

test('a module that loops and one that uses up its memory do not stop other strategies', async () => {
  const files = custom(['loop', 'hog', 'fine'])
  const rehearsal = await rehearse({ ...files, ...everySecond('fills') })
  const daemon = rehearsal.daemon()
  await daemon.sees(/skipped loop[^\n]*it did not answer within 2 s/)
  await daemon.sees(/skipped hog[^\n]*it (ran out of memory|did not answer within 2 s)/)
  await daemon.sees(/filled fills/)
  expect(processesOf(folderOf(files, 'loop')).length).toBeGreaterThanOrEqual(2)

  // Imports of a module reload without a restart.
  writeFileSync(join(folderOf(files, 'fine'), 'label.mjs'), `export const label = 'second label'`)
  expect((await run(['reload', '--config', rehearsal.config])).code).toBe(0)
  await daemon.sees(/skipped fine[^\n]*second label/)
  expect((await daemon.stop()).code).toBe(0)
  expect(processesOf(folderOf(files, 'loop'))).toEqual([])
  expect(await detailsOf(rehearsal, 'fine')).toEqual(['first label', 'second label'])
  const { events } = await audit(rehearsal)
  const opened = all(events, 'slot-opened').filter(({ strategy }) => strategy === 'fills')
  // Every second, while the bad module took two of each two.
  expect(opened.length).toBeGreaterThanOrEqual(4)
})

test('a module reaches no key, environment, file, process or network', async () => {
  const dir = temporaryDirectory()
  const params = { key: join(dir, 'key'), file: join(dir, 'written') }
  writeFileSync(params.key, '0xsecret')
  const rehearsal = await rehearse(custom(['reach'], params))
  const daemon = rehearsal.daemon()
  await daemon.sees(/skipped reach/)
  await daemon.stop()
  expect(await detailsOf(rehearsal, 'reach')).toEqual(['reached: '])
  expect(readdirSync(dir)).toEqual(['key'])
})

test('every module process ends with a killed daemon, even one that loops', async () => {
  const files = custom(['loop', 'fine'])
  const rehearsal = await rehearse(files)
  const daemon = rehearsal.daemon()
  await daemon.sees(/skipped loop/)
  const folder = folderOf(files, 'loop')
  await waitFor(
    'two modules',
    () => processesOf(folder),
    ({ length }) => length === 2,
  )
  daemon.signal('SIGKILL')
  await waitFor(
    'no module',
    () => processesOf(folder),
    ({ length }) => length === 0,
  )
})

test("a module in the operator's folder imports zod, and its errors are reported with their lines", async () => {
  const dir = temporaryDirectory()
  const validate = () =>
    run(['validate', '--json', '--config', 'config/sandbox.yaml'], { cwd: dir })
  expect((await run(['init', '.'], { cwd: dir })).code).toBe(0)
  const { strategiesDir } = parse(readFileSync(join(dir, 'config/sandbox.yaml'), 'utf8'))
  const strategies = join(dir, 'config', strategiesDir)
  const module = './own.mjs'
  const own = {
    ...(custom(['fine'])['fine'] as object),
    name: 'own',
    module,
    params: { spend: '20' },
  }
  writeFileSync(join(strategies, 'own.yaml'), JSON.stringify(own))
  const text = (end: string): string => `import * as z from 'zod'
export const schema = z.strictObject({ spend: z.string() })
${end}
`
  writeFileSync(join(strategies, 'own.mjs'), text(`export const decide = () => ({ skip: 'x' })`))
  expect((await validate()).code).toBe(0)
  writeFileSync(join(strategies, 'own.mjs'), text('export const decide = ('))
  const { code, stdout } = await validate()
  expect(code).toBe(78)
  const [problem] = (JSON.parse(stdout) as { problems: { message: string }[] }).problems
  expect(problem?.message).toMatch(/^this module cannot be loaded: .*own\.mjs:4\)$/)
})
