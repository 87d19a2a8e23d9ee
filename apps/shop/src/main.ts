import {hello} from 'nestjs-payment-acceptance'; console.log(hello);
