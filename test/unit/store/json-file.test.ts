import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { JsonFile } from '../../../src/system/json-file.ts'
import { temporaryDirectory } from '../../support/state/state-directory.ts'

type Count = { readonly count: number }

function aFile() {
  const dir = temporaryDirectory()
  const file = join(dir, 'count.json')
  const open = () =>
    new JsonFile<Count>(file, {
      encode: (data) => `${JSON.stringify(data)}\n`,
      decode(text) {
        const data = JSON.parse(text) as Partial<Count> | null
        if (typeof data?.count !== 'number') throw new SyntaxError('this is not a count')
        return { count: data.count }
      },
    })
  return { dir, file, open }
}

test('a write replaces the whole file, private, for every reading process', async () => {
  const { dir, file, open } = aFile()
  const json = open()
  expect(await json.write({ count: 10_000 })).toBe(16)
  expect(await json.write({ count: 2 })).toBe(12)
  expect(readFileSync(file, 'utf8')).toBe('{"count":2}\n')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(readdirSync(dir)).toEqual(['count.json'])
  expect(await open().read()).toEqual({ count: 2 })
  expect(await json.read()).toEqual({ count: 2 })
})

test('a missing file is undefined and is not created', async () => {
  const { dir, open } = aFile()
  expect(await open().read()).toBeUndefined()
  expect(readdirSync(dir)).toEqual([])
})

test.each(['', 'null', '{}', '[]', '{"count":1'])(
  '"%s" is an error and has no default',
  async (text) => {
    const { file, open } = aFile()
    const json = open()
    await json.write({ count: 1 })
    writeFileSync(file, text)
    await expect(json.read()).rejects.toThrow(SyntaxError)
    expect(readFileSync(file, 'utf8')).toBe(text)
  },
)

test('a removed file is undefined, whatever was written before', async () => {
  const { file, open } = aFile()
  const json = open()
  await json.write({ count: 1 })
  rmSync(file)
  expect(await json.read()).toBeUndefined()
})

test('two concurrent writers leave one of two complete files', async () => {
  const { dir, open } = aFile()
  const writers = [open(), open()]
  for (let round = 0; round < 20; round += 1)
    await Promise.all(writers.map((json, at) => json.write({ count: 10 ** (4 * at + 1) })))
  expect(readdirSync(dir)).toEqual(['count.json'])
  expect([10, 100_000]).toContain((await open().read())?.count)
})

test('a failed write leaves the file unchanged and no temporary file', async () => {
  const { dir, file, open } = aFile()
  mkdirSync(file)
  await expect(open().write({ count: 1 })).rejects.toThrow(/EISDIR|EEXIST|ENOTEMPTY/)
  expect(readdirSync(dir)).toEqual(['count.json'])
})
