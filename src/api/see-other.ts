/** The route declares this redirect under `redirects`. */
export class SeeOther {
  readonly address: string;
  constructor(address: string) {
    this.address = address;
  }
}
