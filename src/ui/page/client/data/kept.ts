/** A text that the browser keeps. Without storage, a reload asks again, and a choice lasts while the page is open. */
export function keptText(storage: 'localStorage' | 'sessionStorage', key: string) {
  return {
    read(): string | undefined {
      try {
        return globalThis[storage].getItem(key) ?? undefined
      } catch {
        return undefined
      }
    },
    write(text: string): void {
      try {
        globalThis[storage].setItem(key, text)
      } catch {
        // See above.
      }
    },
  }
}
