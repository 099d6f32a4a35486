import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readTokens } from '../../../src/cli/compose/page.ts'
import { secretFiles } from '../../../src/config/loose-files.ts'
import { loadSettings } from '../../../src/config/settings/load-settings.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'
import { CONFIG } from '../config/config-fixture.ts'

/** Settings with both tokens, whose files have the given content and mode. */
function settingsWith(files: Readonly<Record<string, readonly [text: string, mode: number]>>) {
  const dir = temporaryDirectory()
  for (const [name, [text, mode]] of Object.entries(files)) {
    writeFileSync(join(dir, name), text)
    chmodSync(join(dir, name), mode)
  }
  const file = join(dir, 'config.yaml')
  const http = 'http: { viewTokenFile: view, control: { tokenFile: control } }\n'
  writeFileSync(file, `${http}${CONFIG.replace(/^http:.*\n/m, '')}`)
  const loaded = loadSettings({ file, env: process.env, overrides: {} })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return { dir, settings: loaded.settings }
}

const LONG = 'c2l4dGVlbiBvciBtb3Jl'

test('tokens are read from private files beside the config, and their files count as secrets', async () => {
  const { dir, settings } = settingsWith({
    view: [`${LONG}\n`, 0o600],
    control: [`${LONG}2`, 0o400],
  })
  expect(await readTokens(settings)).toEqual({
    ok: true,
    tokens: { view: LONG, control: `${LONG}2` },
  })
  expect(secretFiles(settings)).toEqual(
    expect.arrayContaining([join(dir, 'view'), join(dir, 'control')]),
  )
})

test.each([
  ['a missing file', { view: [LONG, 0o600] }, /there is no .*control/, /umask 077; head .*control/],
  [
    'a file that others can read',
    { view: [LONG, 0o600], control: [`${LONG}2`, 0o644] },
    /control can be read or written by others/,
    /chmod 600/,
  ],
  [
    'a short token',
    { view: [LONG, 0o600], control: ['short', 0o600] },
    /control holds no token of 16 to 256 characters/,
    /head -c 24/,
  ],
  [
    'one token for both',
    { view: [LONG, 0o600], control: [LONG, 0o600] },
    /control holds the token of http.viewTokenFile/,
    /another token/,
  ],
] as const)('%s is refused at its place in the config', async (_, files, message, expected) => {
  const read = await readTokens(settingsWith(files).settings)
  if (read.ok) expect.unreachable()
  expect(read.problems).toEqual([
    expect.objectContaining({
      line: 1,
      path: 'http.control.tokenFile',
      message: expect.stringMatching(message),
      expected: expect.stringMatching(expected),
    }),
  ])
})
