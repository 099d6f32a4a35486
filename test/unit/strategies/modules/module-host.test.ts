import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ModuleReply, ModuleView } from '../../../../src/domain/module.ts'
import { aCustomStrategy } from '../../../support/builders.ts'
import { A_VIEW, lastingHost, moduleHost, writeModule } from '../../../support/modules.ts'
import { temporaryDirectory } from '../../../support/state/state-directory.ts'
import { waitFor } from '../../../support/wait-for.ts'

const SCHEMA = 'export const schema = { safeParse: (data) => ({ success: true, data }) }\n'
const SKIP = `export const decide = () => ({ skip: 'fine' })\n`
const FINE = { ok: true, value: { skip: 'fine' } }

type Setup = { readonly params?: unknown; readonly beside?: Record<string, string> }

/** Starts a module in a temporary folder. */
async function started(text: string, { params = {}, beside = {} }: Setup = {}) {
  const folder = join(temporaryDirectory(), 'modules')
  const host = await moduleHost()
  const strategy = aCustomStrategy({ module: writeModule(folder, text, beside), params })
  const start = await host.start(strategy)
  const decide = (view: ModuleView = A_VIEW): Promise<ModuleReply> => host.decide(strategy, view)
  return { folder, host, strategy, start, decide }
}

/** Reply of a module whose `decide` has this body. */
async function decided(body: string, setup: Setup = {}): Promise<ModuleReply> {
  const { start, decide } = await started(`${SCHEMA}export function decide(view) {${body}}`, setup)
  expect(start).toMatchObject({ ok: true })
  return decide()
}

/** Reason why a module was not started. */
async function refusal(text: string, setup: Setup = {}): Promise<string | undefined> {
  const { start } = await started(text, setup)
  return start.ok ? undefined : start.faults[0]?.message
}

/** Command lines of live runner processes, on Linux. */
function alive(): readonly string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').flatMap((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      return command.includes('module-runner.mjs') ? [command] : []
    } catch {
      return []
    }
  })
}

describe('the input of a module', () => {
  test('is the exact view with its parsed params, all frozen', async () => {
    const module = `
      export const schema = { safeParse: (given) => ({ success: true, data: { at: new Date(0), ...given } }) }
      export function decide(view) {
        const frozen = [view, view.params, view.params.list, view.balances.USDC, view.memory].every(Object.isFrozen)
        return { skip: [frozen, view.params.at.getTime(), view.params.list[0], view.balances.USDC.amount * 2n].join(' ') }
      }`
    const { decide } = await started(module, { params: { list: ['0.10'] } })
    const amount = 2n ** 200n
    const view = { ...A_VIEW, balances: { USDC: { amount, decimals: 6 } } }
    const skip = `true 0 0.10 ${amount * 2n}`
    expect(await decide(view)).toEqual({ ok: true, value: { skip } })
  })

  test('keeps a memory field called __proto__ as a field', async () => {
    const memory = JSON.parse('{"__proto__":"1"}')
    const body = 'return { skip: Object.keys(view.memory).join() + ({}).skip }'
    const { decide } = await started(`${SCHEMA}export function decide(view) {${body}}`)
    const value = { skip: '__proto__undefined' }
    expect(await decide({ ...A_VIEW, memory })).toEqual({ ok: true, value })
  })
})

describe('zod', () => {
  test.each([
    [
      'as a whole import',
      `import * as z from 'zod'\nexport const schema = z.strictObject({ spend: z.string() })\n${SKIP}`,
    ],
    [
      'as a named import',
      `import { z } from 'zod'\nexport const schema = z.strictObject({ spend: z.string() })\n${SKIP}`,
    ],
    [
      'as an argument of the schema',
      `export const schema = ({ z }) => z.strictObject({ spend: z.string() })\n${SKIP}`,
    ],
    [
      'as an argument of a default function',
      `export default ({ z }) => ({ schema: z.strictObject({ spend: z.string() }), decide: () => ({ skip: 'fine' }) })`,
    ],
  ])('is available in any folder, %s', async (_, module) => {
    const { start, decide } = await started(module, { params: { spend: '20' } })
    expect(start).toMatchObject({ ok: true })
    expect(await decide()).toEqual(FINE)
  })
})

describe('the imports of a module', () => {
  test('are found in its folder and in node_modules above, as ES modules and CommonJS', async () => {
    const module = `
      import { one } from './one.mjs'
      import two, { half } from './two.cjs'
      import three from './three.json' with { type: 'json' }
      import four from 'four'
      const { five } = await import('./five.js')
      ${SCHEMA}
      export const decide = () => ({ skip: [one, two.two, half, three.n, four, five].join() })`
    const root = temporaryDirectory()
    mkdirSync(join(root, 'node_modules/four'), { recursive: true })
    const four = { name: 'four', exports: { import: './m.mjs' } }
    writeFileSync(join(root, 'node_modules/four/package.json'), JSON.stringify(four))
    writeFileSync(join(root, 'node_modules/four/m.mjs'), 'export default 4')
    const file = writeModule(join(root, 'strategies/modules'), module, {
      'one.mjs': `import './own.mjs'\nexport const one = 1`,
      'two.cjs': `exports.two = require('./inner.cjs'); exports.half = 1`,
      'inner.cjs': 'module.exports = 2',
      'three.json': '{ "n": 3 }',
      'five.js': 'export const five = 5',
    })
    const host = await moduleHost()
    const strategy = aCustomStrategy({ module: file })
    expect(await host.start(strategy)).toMatchObject({ ok: true })
    expect(await host.decide(strategy, A_VIEW)).toEqual({
      ok: true,
      value: { skip: '1,2,1,3,4,5' },
    })
  })

  test.each([
    [`import 'node:net'`, /it imports node:net, and modules cannot use Node's own modules/],
    [`import { readFileSync } from 'fs'`, /it imports fs, and modules cannot use/],
    [`await import('node:child_process')`, /it imports node:child_process, .* \(.*own\.mjs:1:1\)$/],
    [`import './need.cjs'`, /it imports worker_threads, .*need\.cjs:2:/],
    [
      `import '../outside.mjs'`,
      /is outside the module's reach, which is its folder and node_modules above it/,
    ],
    [
      `import './linked.mjs'`,
      /is outside the module's reach, which is its folder and node_modules above it/,
    ],
    [
      `import k from './linked.json' with { type: 'json' }`,
      /is outside the module's reach, which is its folder and node_modules above it/,
    ],
    [`import '/etc/passwd'`, /a module may import \.mjs, \.js, \.cjs and \.json/],
    [`import './gone.mjs'`, /no such file .*gone\.mjs/],
    [`import 'gone'`, /Cannot find package 'gone'/],
    [`import 'data:text/javascript,1'`, /scheme file/],
  ])('are refused for %s', async (text, why) => {
    const root = temporaryDirectory()
    const folder = join(root, 'modules')
    writeFileSync(join(root, 'outside.mjs'), '')
    writeFileSync(join(root, 'key.json'), '"0xsecret"')
    const file = writeModule(folder, `${text}\n${SCHEMA}${SKIP}`, {
      'need.cjs': `\nrequire('worker_threads')`,
    })
    symlinkSync('../outside.mjs', join(folder, 'linked.mjs'))
    symlinkSync('../key.json', join(folder, 'linked.json'))
    const host = await moduleHost()
    const start = await host.start(aCustomStrategy({ module: file }))
    const message = start.ok ? undefined : start.faults[0]?.message
    expect(message).toMatch(/^this module cannot be loaded: /)
    expect(message).toMatch(why)
    expect(message).toMatch(/ \(.*(own\.mjs:1|need\.cjs:2)(:\d+)?\)$/)
    expect(message).not.toContain('secret')
  })

  test('locate a syntax error by line', async () => {
    expect(await refusal('export const a = 1\nexport const b = (\n')).toMatch(
      /^this module cannot be loaded: Unexpected end of input \(.*\/own\.mjs:3\)$/,
    )
  })

  test('locate a failing schema by line', async () => {
    const text = `export const schema = () => {\n  throw new Error('not today')\n}\n${SKIP}`
    expect(await refusal(text)).toMatch(
      /schema of this module failed: not today \(.*own\.mjs:2:9\)$/,
    )
  })

  test('locate a failing decision by line, with one line of its message', async () => {
    const folder = join(temporaryDirectory(), 'modules')
    const text = `${SCHEMA}export const decide = () => {\n  throw new Error('first\\nsecond')\n}\n`
    const strategy = aCustomStrategy({ module: writeModule(folder, text) })
    const host = await moduleHost()
    expect(await host.start(strategy)).toMatchObject({ ok: true })
    expect(await host.decide(strategy, A_VIEW)).toEqual({
      ok: false,
      detail: expect.stringMatching(/^first \(own\.mjs:\d:9\)$/),
    })
  })

  test('cannot await forever', async () => {
    expect(await refusal('await new Promise(() => {})')).toBe(
      'this module cannot be loaded: its top-level await never settles',
    )
  })
})

/** Attempts to reach the network, files, processes and the daemon; each must fail. */
const REACHES = [
  'fetch("http://127.0.0.1:1")',
  'new WebSocket("ws://127.0.0.1:1")',
  'new XMLHttpRequest()',
  'process.kill(process.ppid, 0)',
  'process.exit(0)',
  'process.getBuiltinModule("net")',
  'process.binding("tcp_wrap")',
  'process.mainModule.require("fs")',
  'process.stdout.constructor',
  'require("net")',
  'Function("return this")()',
  'eval("1")',
  'setTimeout(() => {}, 1)',
  'new Worker("x")',
  'Buffer.from("x")',
  'WebAssembly.compile("x")',
  'console.log.constructor("return process")()',
  '(async () => {}).constructor("return 1")',
]

describe('the reach of a module', () => {
  test('is the language only: no network, files, processes, environment, or code from text', async () => {
    const probes = REACHES.map((code) => `[${JSON.stringify(code)}, () => ${code}]`).join(',')
    const reply = await decided(`
      const reached = [${probes}].flatMap(([code, reach]) => {
        try { return [code + ' gave ' + typeof reach()] } catch { return [] }
      })
      return { skip: JSON.stringify([reached, Object.keys(process), Object.keys(process.env)]) }`)
    expect(reply).toEqual({ ok: true, value: { skip: '[[],["env"],[]]' } })
  })

  test('excludes Node, even through objects that it holds or functions that it overrides', async () => {
    const text = readFileSync(new URL('walk.mjs', import.meta.url), 'utf8')
    const beside = { 'late.cjs': 'module.exports = 1' }
    const { start, decide } = await started(text, { beside })
    expect(start).toMatchObject({ ok: true })
    expect(await decide()).toEqual({ ok: true, value: { skip: 'found nothing' } })
  })

  test('is also limited by the permission model', async () => {
    const { strategy } = await started(SCHEMA + SKIP)
    const [command = ''] = alive().filter((each) => each.includes(dirname(strategy.module)))
    expect(command).toMatch(/ --(experimental-)?permission --allow-fs-read=/)
    expect(command).not.toMatch(/--allow-(fs-write|child-process|worker|addons|wasi|net)/)
  })
})

const FAULTS: readonly (readonly [name: string, body: string, why: RegExp])[] = [
  ['throws', `throw new Error('no average\\n  at x')`, /^no average \(own\.mjs:2:\d+\)$/],
  [
    'throws a value without a text',
    'throw Object.create(null)',
    /^it threw a value without a text$/,
  ],
  [
    'loops where no JavaScript runs',
    'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)',
    /^it did not answer within 2 s$/,
  ],
  ['waits', 'return new Promise(() => {})', /^what it returned is a promise; decide is synchron/],
  ['leaves', 'process.exit(0)', /^process\.exit is not a function \(own\.mjs:2:\d+\)$/],
  [
    'exceeds its memory limit',
    `const all = []; while (all.length < 40) all.push(new Array(1e6).fill({})); return { skip: 'held 320 MB' }`,
    // On a slow machine the time limit is reached first.
    /^it (ran out of memory|did not answer within 2 s)$/,
  ],
  [
    'takes memory outside the heap',
    `const all = []; while (all.length < 15) all.push(new Uint8Array(1e8)); return { skip: 'held 1.5 GB' }`,
    /^Array buffer allocation failed \(own\.mjs:2:\d+\)$/,
  ],
  [
    'recurses',
    'const f = () => f() + 1; return f()',
    /^Maximum call stack size exceeded \(own\.mjs:2:\d+\)$/,
  ],
  [
    'has a getter that throws',
    `return { get skip() { throw new Error('got') } }`,
    /^got \(own\.mjs:2:\d+\)$/,
  ],
  ['answers with too much', `return { skip: 'x'.repeat(5e6) }`, /^its answer is too long$/],
  ['answers with a circular value', 'const c = {}; c.c = c; return c', /^it is too large$/],
  ['answers with a huge number', 'return { orders: [2n ** 1_000_000n] }', /without end$/],
  [
    'forges an answer to another question',
    `JSON.stringify = () => '{"id":77,"returned":["map",["skip","x"]],"cpuMs":1}'`,
    /^it sent an unexpected answer$/,
  ],
  [
    'answers twice',
    `JSON.stringify = () => '{"id":1,"returned":["map"],"cpuMs":1}\\n{"id":2}'`,
    /^it answered twice$/,
  ],
  ['answers with garbage', `JSON.stringify = () => '{'`, /^its answer cannot be read: /],
]

describe('a module that fails', () => {
  const strategy = aCustomStrategy()
  const dir = mkdtempSync(join(tmpdir(), 'tranched-faults-'))
  let host: Awaited<ReturnType<typeof lastingHost>>
  beforeAll(async () => {
    const faults = FAULTS.map(([name, body]) => `${JSON.stringify(name)}: () => {${body}}`).join(
      ',',
    )
    const decide = `const faults = {${faults}}
      export const decide = ({ memory }) => memory.bad ? faults[memory.bad]() : { skip: 'fine' }`
    host = await lastingHost()
    Object.assign(strategy, { module: writeModule(dir, SCHEMA + decide) })
    expect(await host.start(strategy)).toMatchObject({ ok: true })
  })
  afterAll(async () => {
    await host.close()
    rmSync(dir, { recursive: true })
  })

  test.each(FAULTS)(
    'because it %s fails only this request and answers the next',
    async (bad, _, why) => {
      const reply = await host.decide(strategy, { ...A_VIEW, memory: { bad } })
      expect(reply).toEqual({ ok: false, detail: expect.stringMatching(why) })
      expect(await host.decide(strategy, A_VIEW)).toEqual(FINE)
    },
  )

  test('in an endless loop does not delay other modules', async () => {
    const loop = aCustomStrategy({
      module: writeModule(join(dir, 'loop'), `${SCHEMA}export function decide() { for (;;); }`),
    })
    expect(await host.start(loop)).toMatchObject({ ok: true })
    const order: string[] = []
    const looped = host.decide(loop, A_VIEW).then((reply) => {
      order.push('loop')
      return reply
    })
    await host.decide(strategy, A_VIEW).then(() => order.push('fine'))
    expect(await looped).toEqual({ ok: false, detail: 'it did not answer within 2 s' })
    expect(order).toEqual(['fine', 'loop'])
  })

  test('is not restarted with files that differ from the checked files', async () => {
    const garbage = `${SCHEMA}export function decide() { JSON.stringify = () => '{' }`
    const { folder, decide } = await started(garbage)
    writeModule(folder, SCHEMA + SKIP)
    expect(await decide()).toMatchObject({ detail: expect.stringContaining('cannot be read') })
    expect(await decide()).toEqual({
      ok: false,
      detail: 'its files are not those that were checked: `tranched reload` reads them',
    })
  })
})

describe('a late import of a module', () => {
  const LATE = `import { load } from './load.cjs'\n${SCHEMA}export const decide = ({ params }) => ({ skip: load(params.name) })`
  const LOAD = `
    exports.load = (name) => {
      if (name === 'code') return require('./late.cjs')
      if (name === 'json') return require('./late.json').content
      if (name === 'package') return require('some')
      return require('./' + name)
    }`

  /** A module whose decision loads `name`; every file is changed after its start. */
  async function changed(name: string) {
    const root = temporaryDirectory()
    const some = join(root, 'node_modules/some')
    mkdirSync(some, { recursive: true })
    writeFileSync(join(some, 'index.js'), `module.exports = require('./inner')`)
    const write = (content: string): string => {
      writeFileSync(join(some, 'inner.js'), `module.exports = '${content}'`)
      return writeModule(join(root, 'strategies'), LATE, {
        'load.cjs': LOAD,
        'late.cjs': `module.exports = '${content}'`,
        'late.json': `{ "content": "${content}" }`,
        'other.cjs': `module.exports = '${content}'`,
      })
    }
    const host = await moduleHost()
    const strategy = aCustomStrategy({ module: write('read at its start'), params: { name } })
    expect(await host.start(strategy)).toMatchObject({ ok: true })
    write('changed since')
    return { host, strategy, file: join(root, 'strategies/other.cjs') }
  }

  test.each(['code', 'json', 'package'])(
    'returns the content from the start if its files name it: %s',
    async (name) => {
      const { host, strategy } = await changed(name)
      expect(await host.decide(strategy, A_VIEW)).toEqual({
        ok: true,
        value: { skip: 'read at its start' },
      })
    },
  )

  test('fails by name if it was not read at the start', async () => {
    const { host, strategy, file } = await changed('other.cjs')
    expect(await host.decide(strategy, A_VIEW)).toEqual({
      ok: false,
      detail: expect.stringMatching(
        `^it loads ${file} late, which was not read at its start: require it at the top of a file, or by its plain name`,
      ),
    })
  })

  test("is part of the module's version", async () => {
    const folder = join(temporaryDirectory(), 'modules')
    const versionWith = async (content: string) => {
      const host = await moduleHost()
      const beside = { 'load.cjs': LOAD, 'late.cjs': `module.exports = '${content}'` }
      const start = await host.start(aCustomStrategy({ module: writeModule(folder, LATE, beside) }))
      return start.ok ? start.version : undefined
    }
    const [one, two, again] = [
      await versionWith('one'),
      await versionWith('two'),
      await versionWith('one'),
    ]
    expect(one).toMatch(/^[0-9a-f]{64}$/)
    expect(two).not.toBe(one)
    expect(again).toBe(one)
  })

  test('is not replaced through a link', async () => {
    const folder = join(temporaryDirectory(), 'modules')
    const module = writeModule(folder, LATE, {
      'load.cjs': LOAD,
      'a.cjs': `module.exports = 'read at its start'`,
      'b.cjs': `module.exports = 'changed since'`,
    })
    symlinkSync('a.cjs', join(folder, 'late.cjs'))
    const host = await moduleHost()
    const strategy = aCustomStrategy({ module, params: { name: 'code' } })
    expect(await host.start(strategy)).toMatchObject({ ok: true })
    rmSync(join(folder, 'late.cjs'))
    symlinkSync('b.cjs', join(folder, 'late.cjs'))
    expect(await host.decide(strategy, A_VIEW)).toMatchObject({
      value: { skip: 'read at its start' },
    })
  })
})

describe('the output of a module', () => {
  const EVIL =
    'a\\x1b]52;c;SGVsbG8=\\x07b\\x1b[2Jc\\u009b31md\\u202Ee\\u2066f\\ud800g\\u2028h\\u{E0041}i'

  test.each([
    ['a failure', `throw new Error('${EVIL}')`, /^a \]52;c;SGVsbG8= b \[2Jc 31md e f g h i \(/],
    ['a load error', undefined, /a \]52;c;SGVsbG8= b \[2Jc 31md e f g h i/],
  ])('cannot control a terminal through %s', async (_, body, clean) => {
    if (body === undefined) expect(await refusal(`throw new Error('${EVIL}')`)).toMatch(clean)
    else expect(await decided(body)).toMatchObject({ detail: expect.stringMatching(clean) })
  })

  test('is bounded, with possible keys masked', async () => {
    const key = 'c0ffee11'.repeat(8)
    const reply = await decided(`throw new Error('${key} ' + 'x'.repeat(1e6))`)
    expect(reply).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/^\*\*\* x{20,}\.\.\.$/),
    })
    expect(JSON.stringify(reply).length).toBeLessThan(600)
  })

  test('is logged line by line, up to a limit', async () => {
    const body = `console.log('seen', { a: 1n }); for (let i = 0; i < 5_000; i += 1) console.error('again', i); return { skip: 'x' }`
    const { host, decide } = await started(`${SCHEMA}export function decide() {${body}}`)
    expect(await decide()).toMatchObject({ ok: true })
    await waitFor('its output', () => host.logged.length > 100)
    expect(host.logged[0]).toEqual(['own', 'seen {"a":"1"}'])
    expect(host.logged.length).toBeLessThan(2_000)
  })
})
