import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { PsData } from '../../src/cli/json/inspect-outputs.ts'
import type { HaltData, HaltFailedData } from '../../src/cli/json/operate-outputs.ts'
import { outputOf } from '../support/output-of.ts'
import { type Enclosure, enclose, mayContain, ROOT, run } from '../support/process/cli.ts'
import { temporaryDirectory } from '../support/state/state-directory.ts'
import { everySecond, type Rehearsal, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

// A bare `halt` would halt every other daemon on this machine. Skipped where the user may not make a PID namespace.
const testEnclosed = test.skipIf(!mayContain())

/** Two rehearsals of one sandbox. The second is a dry-run, so that they share no wallet. */
async function two(): Promise<readonly [Rehearsal, Rehearsal]> {
  const live = await rehearse(everySecond('alpha'))
  const paper = await rehearse(everySecond('beta'))
  const settings = parse(readFileSync(paper.config, 'utf8'))
  writeFileSync(paper.config, stringify({ ...settings, mode: 'dry-run' }))
  return [live, paper]
}

/** Bare commands, typed in an empty folder. */
function typist(enclosure: Enclosure, env: Readonly<Record<string, string>> = {}) {
  const cwd = temporaryDirectory()
  const type = (line: string, more: Readonly<Record<string, string>> = {}) =>
    run(line.split(' '), { enclosure, cwd, env: { HOME: cwd, ...env, ...more } })
  return {
    cwd,
    type,
    daemons: async () => outputOf<PsData>('ps', (await type('ps --json')).stdout).daemons,
  }
}

const haltIn = ({ stateDir }: Rehearsal): string => join(stateDir, 'HALT')

testEnclosed(
  'a bare halt halts every running daemon, from any folder, and names each',
  async () => {
    const enclosure = await enclose()
    const [alpha, beta] = await two()
    const first = alpha.daemon([], { enclosure })
    await first.sees(/filled alpha/)
    const second = beta.daemon([], { enclosure })
    await second.sees(/filled beta/)
    const { type, daemons } = typist(enclosure)
    expect(await daemons()).toMatchObject([
      { stateDir: alpha.stateDir, config: alpha.config, mode: 'live', halted: null, fault: null },
      { stateDir: beta.stateDir, config: beta.config, mode: 'dry-run', halted: null, fault: null },
    ])
    // A command that is not meant for all daemons changes none.
    for (const line of ['pause', 'resume', 'reload', 'trigger alpha', 'settle alpha:1:0']) {
      const unclear = await type(line)
      expect([line, unclear.code]).toEqual([line, 2])
      expect(unclear.stderr).toContain(`--config ${alpha.config} --state-dir ${alpha.stateDir}`)
      expect(unclear.stderr).toContain(`--config ${beta.config} --state-dir ${beta.stateDir}`)
    }
    const halted = await type('halt')
    expect(halted.code).toBe(0)
    for (const each of [alpha, beta]) {
      expect(halted.stdout).toContain(
        `halted everything in ${each.stateDir} (${haltIn(each)} is in place)`,
      )
      expect(existsSync(haltIn(each))).toBe(true)
    }
    await first.sees(/skipped alpha .*halted/)
    await second.sees(/skipped beta .*halted/)
    expect((await daemons()).map((each) => each.halted)).toEqual(
      [alpha, beta].map((each) => expect.stringContaining(`${haltIn(each)} is there: halted by`)),
    )
    // A killed daemon is known to be gone at once, and the command means the one that is left.
    await second.killHard()
    expect(await daemons()).toMatchObject([{ stateDir: alpha.stateDir }])
    expect((await type('resume')).code).toBe(0)
    await first.sees(/skipped alpha[\s\S]*filled alpha/)
    expect(existsSync(haltIn(alpha))).toBe(false)
    expect(existsSync(haltIn(beta))).toBe(true)
    expect((await type('pause alpha')).stdout).toContain('paused alpha')
    expect(await daemons()).toMatchObject([{ paused: ['alpha'], halted: null }])
  },
)

testEnclosed(
  'halt halts the config that the environment names, as every command reads it',
  async () => {
    const enclosure = await enclose()
    const [alpha, beta] = await two()
    const second = beta.daemon([], { enclosure })
    await second.sees(/filled beta/)
    const { type } = typist(enclosure, { TRANCHED_CONFIG: alpha.config })
    expect((await type('validate')).stdout).toContain(alpha.config)
    const halted = await type('halt --json')
    expect(outputOf<HaltData>('halt', halted.stdout).daemons).toMatchObject([
      { stateDir: alpha.stateDir, isHalted: true, pid: null },
    ])
    expect(existsSync(haltIn(beta))).toBe(false)
    // A flag takes precedence over the variable, and an empty variable counts as unset.
    expect((await type(`halt --config ${beta.config}`)).stdout).toContain(beta.stateDir)
    expect((await type('resume', { TRANCHED_CONFIG: '' })).code).toBe(0)
    expect(existsSync(haltIn(beta))).toBe(false)
  },
)

testEnclosed(
  'a bare halt without a daemon marks the default state and reports that none runs',
  async () => {
    const enclosure = await enclose()
    const { type, cwd } = typist(enclosure)
    const nowhere = await type('halt')
    expect(nowhere.code).toBe(1)
    expect(nowhere.stderr).toContain(
      'no daemon of yours is running; config/sandbox.yaml does not name the state directory',
    )
    cpSync(join(ROOT, 'config/sandbox.yaml'), join(cwd, 'config/sandbox.yaml'))
    const halted = await type('halt')
    expect(halted.code).toBe(0)
    const stateDir = join(cwd, 'data/sandbox')
    expect(halted.stdout).toContain(
      `no daemon of yours is running; halted everything in ${stateDir} (`,
    )
    expect(existsSync(join(stateDir, 'HALT'))).toBe(true)
    expect((await type('ps')).stdout).toBe('no daemon of yours is running\n')
    // If the system does not list processes, the command must not claim that no daemon runs.
    enclosure.do('mount', '-t', 'tmpfs', 'none', '/proc')
    const unknown = await type('halt')
    expect(unknown.code).toBe(1)
    expect(unknown.stderr).toMatch(/^running daemons cannot be listed \(/)
    expect(unknown.stderr).toContain(`halted everything in ${stateDir} (`)
    expect((await type('ps')).code).toBe(1)
    expect((await type('pause')).code).toBe(2)
  },
)

testEnclosed('one that cannot be halted is named, and keeps no other from it', async () => {
  const enclosure = await enclose()
  const [alpha, beta] = await two()
  const first = alpha.daemon([], { enclosure })
  await first.sees(/filled alpha/)
  const second = beta.daemon([], { enclosure })
  await second.sees(/filled beta/)
  const { type, daemons } = typist(enclosure)
  const [pid] = (await daemons()).map((each) => each.pid)
  // The daemon hangs, and its state directory is not writable.
  enclosure.do('kill', '-STOP', String(pid))
  enclosure.do('mount', '--bind', alpha.stateDir, alpha.stateDir)
  enclosure.do('mount', '-o', 'remount,ro,bind', alpha.stateDir)
  const halted = await type('halt --json')
  expect(halted.code).toBe(1)
  const { message, daemons: all } = outputOf<HaltFailedData>('halt', halted.stdout)
  expect(message).toMatch(/^NOT halted: the file .*HALT could not be created \(EROFS/)
  expect(message).toContain(`kill -9 ${pid} `)
  expect(message).toContain(`halted everything in ${beta.stateDir}`)
  expect(all).toMatchObject([
    { stateDir: alpha.stateDir, isHalted: false, file: null, isAnswered: false, pid },
    { stateDir: beta.stateDir, isHalted: true, isAnswered: true },
  ])
  await second.sees(/halted everything/)
})
