// bindings: [{"type":"durable_object","name":"HOME","class":"Room","script":"test"}]
// The other script of test_wire.mjs.
import { DurableObject } from 'cloudflare:workers';

export class Far extends DurableObject {
    where() {
        return 'far';
    }
    async relay(name, value) {
        return this.env.HOME.getByName(name).echo(value);
    }
    stub(name) {
        return this.env.HOME.getByName(name);
    }
}
export default {};
