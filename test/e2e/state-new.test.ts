import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { readJournal } from '../../src/store/file/journal-snapshot.ts'
import { type Ended, run } from '../support/process/cli.ts'
import { everySecond, sharedSandbox } from './rehearsal.ts'

const rehearse = sharedSandbox()

/** Kills a program, as a power cut would, right before its n-th rename of a file. */
const DIES = `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { isMainThread } from 'node:worker_threads'
let left = Number(process.env.DIES_AT_RENAME)
for (const owner of isMainThread ? [fs, fs.promises] : [])
  for (const name of ['rename', 'renameSync']) {
    const real = owner[name]
    if (real === undefined) continue
    owner[name] = (...given) => {
      left -= 1
      if (left === 0) process.kill(process.pid, 'SIGKILL')
      return real.apply(owner, given)
    }
  }
syncBuiltinESMExports()
`

test('a halt that only the journal has survives a kill of `state new` at any moment', async () => {
  const rehearsal = await rehearse(everySecond('buy-weth'))
  const { config, dir, stateDir } = rehearsal
  const keys = dirname(config)
  const dies = join(dir, 'dies.mjs')
  writeFileSync(dies, DIES)
  const command = (args: readonly string[], env = {}): Promise<Ended> =>
    run([...args, '--config', config], { env })
  const begin = (env = {}): Promise<Ended> => command(['state', 'new', '--yes'], env)

  const daemon = rehearsal.daemon()
  await daemon.sees(/filled buy-weth/)
  expect((await command(['halt'])).code).toBe(0)
  expect((await daemon.stop()).code).toBe(0)
  rmSync(join(stateDir, 'HALT'))
  expect((await readJournal(stateDir)).state.halted).toBeDefined()
  const [state, anchors] = [join(dir, 'halted'), join(dir, 'anchors')]
  cpSync(stateDir, state, { recursive: true })
  cpSync(keys, anchors, { recursive: true })

  let cuts = 0
  for (let at = 1; at < 40; at += 1) {
    rmSync(stateDir, { recursive: true })
    cpSync(state, stateDir, { recursive: true })
    cpSync(anchors, keys, { recursive: true })
    const NODE_OPTIONS = `--import=${pathToFileURL(dies)}`
    const cut = await begin({ NODE_OPTIONS, DIES_AT_RENAME: `${at}` })
    if (cut.signal !== 'SIGKILL') {
      expect(cut.code, cut.stderr).toBe(0)
      expect(cut.stdout).toContain('It stays halted until')
      break
    }
    cuts += 1
    const again = await begin()
    expect(again.code, again.stderr).toBe(0)
    expect(again.stdout).toContain('It stays halted until')
    expect((await readJournal(stateDir)).state.halted).toBeDefined()
  }
  expect(cuts).toBeGreaterThan(3)

  expect((await command(['resume'])).stdout).toContain('everything')
  expect(existsSync(join(stateDir, 'HALT'))).toBe(false)
  expect((await readJournal(stateDir)).state.halted).toBeUndefined()
})
