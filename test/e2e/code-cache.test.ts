import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { PROGRAM, ROOT } from '../support/process/cli.ts'
import { startProcess } from '../support/process/programs.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { waitFor } from '../support/wait-for.ts'

const TRUE = 'check the config, its keys and every strategy file'
const FALSE = TRUE.replace('every', 'no   ')
const DIGEST_BYTES = 32

let dist: string
let bundle: string
let cache: string

/** A copy of the installation, without its cache. */
beforeEach(() => {
  const dir = temporaryDirectory()
  dist = join(dir, 'dist')
  cpSync(dirname(PROGRAM), dist, { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  bundle = join(dist, 'program.js')
  for (const name of cachesIn(dist)) rmSync(join(dist, name))
  cache = `${bundle}.${process.versions.v8}-${process.arch}.cache`
})

function cachesIn(dir: string): readonly string[] {
  return readdirSync(dir).filter((name) => name.endsWith('.cache'))
}

function said(...args: readonly string[]): string {
  const { stdout } = spawnSync(process.execPath, [join(dist, 'tranched.js'), ...args], {
    encoding: 'utf8',
  })
  return stdout
}

/**
 * Writes the code cache of a program that says something else, with the digest of this one: whoever uses it says FALSE.
 */
function putFalseCache(): void {
  const source = readFileSync(bundle, 'latin1')
  const maker = join(dist, 'maker.js')
  writeFileSync(`${maker}.txt`, source.replaceAll(TRUE, FALSE), 'latin1')
  const hash = createHash('sha256').update(source, 'latin1').digest('hex')
  writeFileSync(
    maker,
    `const fs = require('node:fs')
    const source = fs.readFileSync(${JSON.stringify(`${maker}.txt`)}, 'latin1')
    const file = ${JSON.stringify(bundle)}
    const script = new (require('node:vm').Script)(source, { filename: file })
    const module_ = { exports: {} }
    script.runInThisContext()(module_.exports, require, module_, file, __dirname)
    process.once('exit', () => {
      const data = script.createCachedData()
      const digest = require('node:crypto').createHash('sha256').update('${hash}').update(data).digest()
      fs.writeFileSync(${JSON.stringify(cache)}, Buffer.concat([digest, data]), { mode: 0o644 })
    })
    module_.exports.main()`,
  )
  expect(
    spawnSync(process.execPath, [maker, 'validate', '--help'], { encoding: 'utf8' }).stdout,
  ).toContain(FALSE)
}

test('a start uses the code cache of its own build, wherever the installation is', () => {
  putFalseCache()
  expect(said('validate', '--help')).toContain(FALSE)
})

test('a cache that other users may write is not used', () => {
  putFalseCache()
  for (const mode of [0o664, 0o646]) {
    chmodSync(cache, mode)
    expect(said('validate', '--help')).toContain(TRUE)
  }
})

test.runIf(process.getuid?.() === 0)("another user's cache is not used", () => {
  putFalseCache()
  chownSync(cache, 65_534, 65_534)
  expect(said('validate', '--help')).toContain(TRUE)
})

test('a cache that is damaged, incomplete or of another build is not used', () => {
  putFalseCache()
  const whole = readFileSync(cache)
  const flipped = Buffer.from(whole)
  flipped.writeUInt8(whole.readUInt8(whole.length >> 1) ^ 1, whole.length >> 1)
  const others = Buffer.from(whole)
  others.fill(7, 0, DIGEST_BYTES)
  for (const bytes of [flipped, whole.subarray(0, whole.length >> 1), Buffer.alloc(0), others]) {
    writeFileSync(cache, bytes)
    expect(said('validate', '--help')).toContain(TRUE)
  }
})

test('a run makes a missing cache when it ends well, and a validation does not', async () => {
  const config = join(ROOT, 'config/sandbox.yaml')
  said('validate', '--config', config)
  said('run', '--config', join(dist, 'missing.yaml'))
  expect(cachesIn(dist)).toEqual([])
  const state = join(temporaryDirectory(), 'state')
  const args = ['run', '--config', config, '--state-dir', state, '--http-port', '0']
  const running = startProcess(process.execPath, [join(dist, 'tranched.js'), ...args], {})
  await waitFor('a slot', () => /"event":"slot-opened"/.exec(running.output())).finally(
    running.stop,
  )
  expect(await running.exited).toBe(0)
  expect(cachesIn(dist)).toEqual([basename(cache)])
  expect(said('validate', '--help')).toContain(TRUE)
})

test('status makes the missing cache of the commands that only read, which keep it', () => {
  said('status', '--config', join(dist, 'missing.yaml'))
  said('ps', '--help')
  expect(cachesIn(dist)).toEqual([])
  said('status', '--help')
  const name = basename(cache).replace('program', 'reading')
  expect(cachesIn(dist)).toEqual([name])
  const made = readFileSync(join(dist, name))
  for (const command of ['ps', 'status', 'history', 'why'])
    expect(said(command, '--help')).toContain(`Usage: tranched ${command}`)
  expect(readFileSync(join(dist, name))).toEqual(made)
})

test('a crash report names functions and lines, of the sources if Node reads source maps', () => {
  cpSync(dirname(PROGRAM), dist, { recursive: true })
  const fault = join(dist, 'fault.cjs')
  writeFileSync(fault, "TextDecoder.prototype.decode = () => { throw new RangeError('here') }")
  const trace = (...flags: readonly string[]): string => {
    const args = ['--require', fault, ...flags, join(dist, 'tranched.js'), 'validate']
    return spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8' }).stderr
  }
  const [, line] = /at readDiskFile \(dist\/program\.js:(\d+):/.exec(trace()) ?? []
  expect(readFileSync(bundle, 'latin1').split('\n')[Number(line) - 1]).toContain('.decode(')
  expect(trace('--enable-source-maps')).toMatch(/\(.*src\/config\/yaml\/yaml-files\.ts:\d+/)
})
